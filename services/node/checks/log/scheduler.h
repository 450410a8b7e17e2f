#ifndef SERVICES_NODE_CHECKS_LOG_SCHEDULER_H_
#define SERVICES_NODE_CHECKS_LOG_SCHEDULER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// Records of `sacct -P` (or -p, or with another delimiter such as "|#"), one map of field to value
// each. A field that holds a newline continues in the next line. At most kMaxRecords. DATA_LOSS:
// the first line is not a heading of sacct.
inline constexpr std::size_t kMaxRecords = 100'000;
absl::StatusOr<std::vector<std::map<std::string, std::string>>> ParseSacct(absl::string_view text);

// "CANCELLED" of "CANCELLED by 1000", "OUT_OF_ME+": the state without what follows it. Pure.
std::string PlainState(absl::string_view state);

// GiB of Slurm's "8G", "62500Mn", "64Gc" (per node, per core) or Kubernetes' "8Gi"; nothing for
// another text. Pure.
std::optional<double> MemoryGib(absl::string_view text);

// job.scheduler.
extern const LogWant kSchedulerWant;
absl::StatusOr<CheckOutput> CheckScheduler(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_SCHEDULER_H_
