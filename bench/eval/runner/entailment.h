#ifndef BENCH_EVAL_RUNNER_ENTAILMENT_H_
#define BENCH_EVAL_RUNNER_ENTAILMENT_H_

#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::eval {

// Whether what a verdict cites entails it, by the rules of its label and by nothing else: neither
// its words nor evidence that it does not cite.
//
// CONFIRMED: on a node that it accuses, a confirm rule is true over the cited results; one that
// goes with the cause on healthy machines too counts only beside a cited log message that speaks
// for this label. REJECTED: a refute rule is true, or confirm rules were read and none is true.
// Every other verdict claims nothing and is entailed. Pure.
bool IsEntailed(const galen::v1::Diagnosis& diagnosis, const galen::v1::Verdict& verdict,
                const knowledge::Knowledge& knowledge);

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_ENTAILMENT_H_
