#ifndef SERVICES_NODE_EXEC_EXEC_CHECK_H_
#define SERVICES_NODE_EXEC_EXEC_CHECK_H_

#include "absl/status/statusor.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Runs a check of kind EXEC: starts the program that it declares, without a shell and within its
// limits, and has its output read by the parser that it names (docs/exec.md). In a bundle it reads
// what was captured of the same program: of the very argv, and of those with the same first words.
//
// A live program that fails or hangs is run once more for each of the trials that the check
// declares (trials.h). Their result is then a finding, even if the run by itself is an error.
//
// A program that does not end in time is DEADLINE_EXCEEDED, or the finding `hung` where the check
// declares one: a hang is an answer. The host's errors; ABORTED an exit code that the declaration
// does not allow; RESOURCE_EXHAUSTED more output or processes than it may; CANCELLED; DATA_LOSS the
// output is not what it should be; FAILED_PRECONDITION the declaration cannot be used, or the
// program says that it does not apply here; INVALID_ARGUMENT a parameter would be read as an
// option.
absl::StatusOr<CheckOutput> RunExecCheck(const knowledge::v1::Check& check,
                                         const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXEC_EXEC_CHECK_H_
