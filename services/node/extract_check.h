#ifndef SERVICES_NODE_EXTRACT_CHECK_H_
#define SERVICES_NODE_EXTRACT_CHECK_H_

#include "absl/status/statusor.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Runs a check of kind EXTRACT: reads the command or the file that it declares, and takes from the
// text what the pattern of each finding matches first. A bool is whether its pattern matches; of
// any other type a finding without a match is unknown. All findings are of the node as a whole.
//
// The host's errors; ABORTED the command failed; RESOURCE_EXHAUSTED there is more than is read, in
// which what does not match may stand; FAILED_PRECONDITION the declaration is not usable (that lint
// refuses).
absl::StatusOr<CheckOutput> RunExtractCheck(const knowledge::v1::Check& check,
                                            const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXTRACT_CHECK_H_
