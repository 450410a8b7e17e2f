#ifndef SERVICES_EXECUTION_COMPARISON_H_
#define SERVICES_EXECUTION_COMPARISON_H_

#include "absl/types/span.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::execution {

// Adds to the results of one check, one result per node, the findings of its comparison between
// nodes (`compare:`), and judges them by their limits. A finding belongs to its node, or to the
// device if the value is a device's and the finding is a number.
//
//   differs           the node's devices do not all have the value that most nodes have there.
//                     Without a majority (two nodes, two values) every node differs.
//   same_on_all       every node says the same of the same devices.
//   below_median_pct  how far the device lies below the median over the nodes; 0 at or above it.
//   above_median_pct  likewise above.
//
// Nodes whose check did not pass or fail, or that lack the value, are not compared. A finding is
// unknown (has no value) if fewer nodes are left than the comparison asks for. `expected` says what
// the others have, and how many ("4096, as on 20 of 24 nodes"). Pure.
void CompareNodes(const knowledge::v1::Check& spec,
                  absl::Span<galen::v1::CheckResult* const> results);

}  // namespace galen::execution

#endif  // SERVICES_EXECUTION_COMPARISON_H_
