#ifndef SERVICES_NODE_CHECKS_LOG_KNOWN_ISSUES_H_
#define SERVICES_NODE_CHECKS_LOG_KNOWN_ISSUES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// A defect of a release, as the catalogue lists it in texts:
//   PACKAGE RANGE   "nccl>=2.19,<2.19.4" as in InVersionRange; every one of them has to be met
//   log=PATTERN     RE2; a line of the job's logs or of the kernel log has to hold it
struct KnownIssue {
  std::string name;
  std::map<std::string, std::string> versions;
  std::string log;  // empty: the release alone is the defect
};

// INVALID_ARGUMENT: a text of another form, or an issue without a version.
absl::StatusOr<KnownIssue> ParseKnownIssue(absl::string_view name,
                                           const std::vector<std::string>& texts);

// One transaction of /var/log/apt/history.log.
struct PackageChange {
  std::optional<absl::Time> time;  // the log names no zone: taken as UTC
  std::string action;              // "Install", "Upgrade", "Remove", ...
  std::vector<std::string> packages;
};

// Pure. At most 10,000 changes of 10,000 packages.
std::vector<PackageChange> ParseAptHistory(absl::string_view text);

// framework.known_issues, history.changes.
extern const LogWant kKnownIssuesWant;
absl::StatusOr<CheckOutput> CheckKnownIssues(const CheckContext& context);
extern const LogWant kChangesWant;
absl::StatusOr<CheckOutput> CheckChanges(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_KNOWN_ISSUES_H_
