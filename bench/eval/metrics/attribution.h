#ifndef BENCH_EVAL_METRICS_ATTRIBUTION_H_
#define BENCH_EVAL_METRICS_ATTRIBUTION_H_

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Adds to `attribution` whether the primary cause is located where the answer says. Entries of the
// answer's `faulty` that are also in its `hosts` are hosts; the others are devices: a PCI address
// or the name of a network device. Hosts are right if exactly these are named; devices if each is
// named on a faulty host. An answer without hosts or devices does not count there. Pure.
void CountAttribution(const v1::Case& a_case, const v1::NamedCause& cause,
                      v1::Attribution& attribution);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_ATTRIBUTION_H_
