#ifndef BENCH_EVAL_RUNNER_DESCRIBE_H_
#define BENCH_EVAL_RUNNER_DESCRIBE_H_

#include "common/knowledge/knowledge.h"
#include "galen/eval/v1/eval.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::eval {

// Adds the questions that led to `event` to `use`: what a search has cost follows from its log. One
// verdict is one question. What models took is added as the event tells it. Pure.
void CountReasonerUse(const galen::v1::DiagnosisEvent& event, v1::ReasonerUse& use);

// What is kept of a finished diagnosis: all but case, strategy, key and times. Pure.
v1::CaseResult Describe(const galen::v1::Diagnosis& diagnosis,
                        const knowledge::Knowledge& knowledge);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_DESCRIBE_H_
