#ifndef BENCH_EVAL_RUNNER_DESCRIBE_H_
#define BENCH_EVAL_RUNNER_DESCRIBE_H_

#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::eval {

// Adds the questions that led to `event` to `use`, so that the cost of a search follows from its
// log. One verdict is one question. The usage of models is added as the event reports it. Pure.
void CountReasonerUse(const galen::v1::DiagnosisEvent& event, v1::ReasonerUse& use);

// The stored part of a finished diagnosis: everything but case, strategy, key and times. Pure.
v1::CaseResult Describe(const galen::v1::Diagnosis& diagnosis,
                        const knowledge::Knowledge& knowledge);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_DESCRIBE_H_
