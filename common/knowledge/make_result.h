#ifndef COMMON_KNOWLEDGE_MAKE_RESULT_H_
#define COMMON_KNOWLEDGE_MAKE_RESULT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"

namespace galen::knowledge {

// The observations of a check. PASS or FAIL follows from the findings' declared limits
// (knowledge/checks), so a check only reports values; a finding whose value could not be determined
// has none.
struct CheckOutput {
  std::vector<galen::v1::Finding> findings;
  std::string message;  // one sentence for people
  std::string excerpt;  // raw output that shows it; cleaned and cut by MakeResult()
  std::vector<galen::v1::Course> courses = {};
  std::vector<std::string> wanted = {};  // what to collect, where it could not tell
};

// A result without findings: SKIPPED or ERROR, with the reason.
galen::v1::CheckResult ResultWithoutFindings(absl::string_view check, absl::string_view node,
                                             galen::v1::CheckResult::Status status,
                                             absl::string_view message);

// Makes the result from a check's output. NOT_FOUND, UNAVAILABLE, PERMISSION_DENIED and
// FAILED_PRECONDITION become SKIPPED with their message as the reason, every other error ERROR.
// Findings get their unit and are judged by the limits of `spec`: one abnormal finding makes it
// FAIL. Foreign text is cleaned and bounded. A finding that `spec` does not declare, or of another
// type, is our bug: the result is an ERROR. Pure.
galen::v1::CheckResult MakeResult(const v1::Check& spec, absl::string_view node,
                                  absl::StatusOr<CheckOutput> output);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_MAKE_RESULT_H_
