#ifndef SERVICES_NODE_EXECUTOR_H_
#define SERVICES_NODE_EXECUTOR_H_

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/hot_swap.h"
#include "common/knowledge/knowledge.h"
#include "common/observability/metrics/check_numbers.h"
#include "common/observability/metrics/registry.h"
#include "galen/node/v1/node.pb.h"
#include "services/node/check_run.h"
#include "services/node/checks/check.h"
#include "services/node/device_queue.h"
#include "services/node/host_source.h"
#include "services/node/stuck_checks.h"

namespace galen::node {

// Runs whitelisted checks on this machine or on a node of a bundle. Thread-safe.
class NodeExecutor {
 public:
  struct Options {
    // Checks that run at the same time, of one call.
    int max_parallel = 4;
    // The time limit of a check unless the catalogue has one (time_limit, exec.time). A check that
    // takes longer is cancelled, an ERROR, and its thread is abandoned.
    absl::Duration check_timeout = absl::Seconds(30);
    // No check takes longer, whatever the catalogue says.
    absl::Duration longest_check = absl::Hours(1);
    // How long a check waits for the device that it loads (`occupies`).
    absl::Duration longest_wait = absl::Minutes(30);
    // Interim messages of one check are at least this far apart.
    absl::Duration progress_interval = absl::Milliseconds(250);
    // Checks of bundles that may hang before no call is taken that is about a bundle. On this
    // machine one that hangs is not begun again, and the others run.
    int max_stuck = 64;
  };

  // `hosts` must outlive the executor. `checks` are those that may run, besides those that the
  // knowledge declares whole (kinds EXTRACT and EXEC).
  NodeExecutor(const HostSource& hosts, std::shared_ptr<const knowledge::Knowledge> knowledge,
               std::vector<NamedCheck> checks, Options options);

  // Calls `on_result` once for each distinct check of the request, from this thread, as they
  // finish, and then returns; before that, when the request asks for progress, with messages of
  // status RUNNING. `deadline` is on the present scale of the clock. An error of one check is its
  // own result and does not affect the others. Only one of the checks that load the same kind of
  // device runs at a time, over all calls. Nothing that the call started runs on when it returns,
  // except a thread that is stuck in the kernel. INVALID_ARGUMENT no check, or too many;
  // RESOURCE_EXHAUSTED too many checks of bundles are stuck; CANCELLED `cancelled` was, and the
  // missing results do not come; the errors of the host source for the bundle or node.
  absl::Status RunChecks(const v1::RunChecksRequest& request, absl::Time deadline,
                         absl::FunctionRef<void(galen::v1::CheckResult)> on_result,
                         const Cancellation& cancelled = Cancellation::Never()) const;

  // Reads the logs of a bundle for the checks that will ask for them: a diagnosis calls it as soon
  // as it knows the bundle, beside other work. Takes as long as that takes. `window_end`: of the
  // incident.
  void ReadAhead(const std::string& bundle, const std::string& node, absl::Time window_end) const;

  v1::DescribeResponse Describe() const;

  // In numbers: results and times of checks, and what is stuck. Stays good when this is gone.
  std::shared_ptr<const prometheus::Collectable> metrics() const;

  // From the next call on. Calls in flight, and checks that are stuck, keep what they began with.
  void Use(std::shared_ptr<const knowledge::Knowledge> knowledge);

 private:
  struct Waiting;
  // Which checks there are, and what the knowledge says of them.
  struct Catalogue {
    std::shared_ptr<const knowledge::Knowledge> knowledge;
    std::map<std::string, NativeCheck, std::less<>> checks;
    // The log lines that the checks read, each want once.
    std::vector<const LogWant*> log_wants;
  };

  static std::shared_ptr<const Catalogue> MakeCatalogue(
      std::shared_ptr<const knowledge::Knowledge> knowledge, const std::vector<NamedCheck>& checks);

  // The newest catalogue, or the one before it where only that has all checks of the request: a
  // diagnosis that began before a check was taken out still asks for it.
  std::shared_ptr<const Catalogue> CatalogueFor(const v1::RunChecksRequest& request) const;
  // Says what is to run, in the order of the request; gives `on_result` the checks that are not.
  std::deque<Waiting> Plan(const Catalogue& catalogue, const v1::RunChecksRequest& request,
                           const CheckRun::Call& call,
                           absl::FunctionRef<void(galen::v1::CheckResult)> on_result) const;
  // A check of the request, or why it is not to run.
  absl::StatusOr<const knowledge::v1::Check*> Runnable(const Catalogue& catalogue,
                                                       const std::string& check,
                                                       const v1::RunChecksRequest& request) const;
  absl::Duration AllowedTime(const knowledge::v1::Check& check) const;
  // Starts of `waiting` what may start; the number that began.
  std::size_t StartWaiting(const Catalogue& catalogue, const std::shared_ptr<CheckRun>& run,
                           std::deque<Waiting>& waiting, std::size_t free_places,
                           absl::FunctionRef<void(galen::v1::CheckResult)> on_result) const;

  const HostSource& hosts_;
  const std::vector<NamedCheck> native_;
  HotSwap<Catalogue> catalogue_;
  const Options options_;
  mutable DeviceQueue turns_;
  // Shared with the threads that are left to themselves.
  std::shared_ptr<StuckChecks> stuck_ = std::make_shared<StuckChecks>();
  std::shared_ptr<metrics::CheckNumbers> numbers_ = std::make_shared<metrics::CheckNumbers>();
};

}  // namespace galen::node

#endif  // SERVICES_NODE_EXECUTOR_H_
