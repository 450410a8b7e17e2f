#ifndef BENCH_EVAL_METRICS_ATTRIBUTION_H_
#define BENCH_EVAL_METRICS_ATTRIBUTION_H_

#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Adds to `attribution` whether the primary cause is placed where the answer says. What stands
// among the answer's `hosts` is a host, the rest of `faulty` are devices: a PCI address or the name
// of a network device. Hosts are right when they are exactly those; devices when each is named on a
// faulty host. An answer without hosts or devices is not counted there. Pure.
void CountAttribution(const v1::Case& a_case, const v1::NamedCause& cause,
                      v1::Attribution& attribution);

}  // namespace galen::eval

#endif  // BENCH_EVAL_METRICS_ATTRIBUTION_H_
