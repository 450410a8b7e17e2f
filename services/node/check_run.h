#ifndef SERVICES_NODE_CHECK_RUN_H_
#define SERVICES_NODE_CHECK_RUN_H_

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/host/host.h"
#include "common/knowledge/knowledge.h"
#include "common/observability/metrics/check_numbers.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/checks/check.h"
#include "services/node/stuck_checks.h"

namespace galen::node {

// The checks of one call that run. Shared by their threads: one that is stuck keeps what it uses.
// Thread-safe.
class CheckRun {
 public:
  // Shared by all checks of the call.
  struct Call {
    std::shared_ptr<const host::Host> host;
    std::shared_ptr<const knowledge::Knowledge> knowledge;
    // The log lines that any of the checks reads.
    std::vector<const LogWant*> log_wants;
    std::string node;
    absl::Time window_start = absl::InfinitePast();
    absl::Time window_end = absl::InfiniteFuture();
    absl::Time deadline = absl::InfiniteFuture();
    bool allow_busy = false;
    // Interim messages are requested, from each check at most one per `progress_interval`.
    bool progress = false;
    absl::Duration progress_interval = absl::Milliseconds(250);
    // Counts how long checks run; may be null.
    std::shared_ptr<metrics::CheckNumbers> numbers;
  };

  // `stuck` counts the checks that were given up and still run, over all calls.
  CheckRun(Call call, std::shared_ptr<StuckChecks> stuck);

  const Call& call() const { return call_; }

  // Runs `native`, or what `spec` declares when it is nullptr, on a thread of its own, for
  // `allowed` and not beyond the call's deadline. `keep` is held until it returns. `spec` belongs
  // to the call's knowledge.
  static void Start(const std::shared_ptr<CheckRun>& run, const knowledge::v1::Check& spec,
                    NativeCheck native, Parameters parameters, absl::Duration allowed,
                    std::shared_ptr<const void> keep);

  // Waits, `longest` at most, for news; returns results and interim messages, each final result
  // once. A check whose time is up is cancelled and its result is an ERROR.
  std::vector<galen::v1::CheckResult> Next(absl::Duration longest);

  // Cancels whatever runs, and forgets it.
  void Cancel();

 private:
  // How far a check is.
  struct Progress {
    double done = 0;
    std::string what;
    bool news = false;
    absl::Time told;
  };
  struct Running {
    absl::Time begun;
    absl::Duration allowed;
    absl::Time limit;
    std::shared_ptr<Cancellation> cancelled;
    Progress progress;
  };

  void Note(const std::string& check, double done, absl::string_view what);
  // From the thread of `check`.
  void Finish(const std::string& check, galen::v1::CheckResult result);
  void TellProgress(absl::Time now, std::vector<galen::v1::CheckResult>& messages);
  void CountTime(const std::string& check, const Running& running, absl::Time now) const;
  void GiveUpLate(absl::Time now, std::vector<galen::v1::CheckResult>& results);

  const Call call_;
  const std::shared_ptr<StuckChecks> stuck_;
  // Not a galen::Mutex, which does not support a timed wait.
  std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  std::map<std::string, Running> running_;
  std::set<std::string> late_;  // given up after all of their time
  std::deque<galen::v1::CheckResult> finished_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECK_RUN_H_
