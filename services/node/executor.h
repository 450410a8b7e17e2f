#ifndef SERVICES_NODE_EXECUTOR_H_
#define SERVICES_NODE_EXECUTOR_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "galen/node/v1/node.pb.h"
#include "services/node/checks/check.h"
#include "services/node/host_source.h"

namespace galen::node {

// Runs whitelisted checks on this machine or on a node of a bundle. Thread-safe.
class NodeExecutor {
 public:
  struct Options {
    // Checks that run at the same time, of one call.
    int max_parallel = 4;
    // What one check may take. One that takes longer is an ERROR and its thread is left to itself.
    absl::Duration check_timeout = absl::Seconds(30);
    // Threads that may be left to themselves before no new call is taken.
    int max_stuck = 64;
  };

  // `hosts` must outlive the executor. `checks` are those that may run, besides those that the
  // knowledge declares whole (kind EXTRACT).
  NodeExecutor(const HostSource& hosts, std::shared_ptr<const knowledge::Knowledge> knowledge,
               std::vector<NamedCheck> checks, Options options);

  // Calls `on_result` once for each distinct check of the request, from this thread, as they are
  // done, and then returns. What goes wrong with one check is its result and nothing else's.
  // INVALID_ARGUMENT no check, or too many; RESOURCE_EXHAUSTED too many checks are stuck; what the
  // host source says of the bundle or node.
  absl::Status RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                         absl::FunctionRef<void(galen::v1::CheckResult)> on_result) const;

  v1::DescribeResponse Describe() const;

 private:
  struct Run;

  // False, and the result in `refused`, when the check is not to run.
  bool Runnable(const std::string& check, const v1::RunChecksRequest& request,
                galen::v1::CheckResult& refused) const;
  // Runs the check on a thread of its own.
  void Start(const std::shared_ptr<Run>& run, const std::string& check) const;

  const HostSource& hosts_;
  const std::shared_ptr<const knowledge::Knowledge> knowledge_;
  std::map<std::string, NativeCheck, std::less<>> checks_;
  const Options options_;
  // Shared with the threads that are left to themselves.
  std::shared_ptr<std::atomic<int>> stuck_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace galen::node

#endif  // SERVICES_NODE_EXECUTOR_H_
