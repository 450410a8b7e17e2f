#ifndef SERVICES_NODE_CHECK_RESULT_H_
#define SERVICES_NODE_CHECK_RESULT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/checks/check.h"

namespace galen::node {

// A result without findings: SKIPPED or ERROR, with the reason.
galen::v1::CheckResult ResultWithoutFindings(absl::string_view check, absl::string_view node,
                                             galen::v1::CheckResult::Status status,
                                             absl::string_view message);

// Makes the result of what a check gave. An error becomes SKIPPED or ERROR (see check.h). Findings
// get their unit and are judged by the limits of `spec`: one abnormal finding makes it FAIL.
// Foreign text is cleaned and bounded. A finding that `spec` does not declare, or of another type,
// is our bug: the result is an ERROR. Pure.
galen::v1::CheckResult MakeResult(const knowledge::v1::Check& spec, absl::string_view node,
                                  absl::StatusOr<CheckOutput> output);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECK_RESULT_H_
