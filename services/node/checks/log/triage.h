#ifndef SERVICES_NODE_CHECKS_LOG_TRIAGE_H_
#define SERVICES_NODE_CHECKS_LOG_TRIAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/node/checks/check.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/patterns.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// How a process ended, as a launcher reports it.
struct ExitReport {
  std::optional<int> rank;
  std::optional<int> exit_code;
  std::optional<int> signal;
};

// The report that a line of torchrun, srun, mpirun or a shell holds; nothing when it holds none.
// Exit codes of 128 and more are a shell's way to name a signal. Pure.
std::optional<ExitReport> FindExit(absl::string_view line);

// A collective that the watchdog of PyTorch gave up.
struct WatchdogTimeout {
  std::optional<int> rank;
  std::string group;  // "" where the release does not print it
  std::int64_t sequence = -1;
  std::string op;  // "ALLREDUCE"
  std::int64_t numel_in = -1;
  std::int64_t timeout_ms = 0;
  std::int64_t ran_ms = 0;
};

// Pure.
std::optional<WatchdogTimeout> FindWatchdogTimeout(absl::string_view line);

// The first failure of a job, found line by line in constant memory. Lines of one log have to come
// in their order; logs may come in any.
class Triage {
 public:
  // `patterns`: what a failure looks like, the most specific first; those named "none:..." look
  // like one and are none.
  explicit Triage(std::vector<CheckData::Pattern> patterns, absl::Time near);
  void Add(const LogLine& line);

  struct Failure {
    std::string signature;
    std::string text;
    std::string log;
    std::string node;
    std::int64_t line = 0;
    std::optional<absl::Time> time;
    std::optional<int> rank;
  };
  // The first one; nothing when there is none.
  const std::optional<Failure>& first() const { return first_; }
  // Failures by rank, at most kMaxRanks.
  const std::map<int, Failure>& by_rank() const { return by_rank_; }
  const std::map<int, ExitReport>& exits() const { return exits_; }
  std::int64_t count() const { return count_; }
  // A barrier was given up after just the time that it was configured to wait; nothing when no
  // collective was given up.
  std::optional<bool> timeout_equals_configured() const { return timeout_equals_; }

  static constexpr std::size_t kMaxRanks = 100'000;

 private:
  bool Earlier(const Failure& a, const Failure& b) const;
  void NoteExit(const LogLine& line);

  const std::vector<CheckData::Pattern> patterns_;
  std::shared_ptr<const PatternSet> set_;  // of their texts
  absl::Time near_;
  const host::JobLog* log_ = nullptr;
  std::optional<absl::Time> clock_;  // of the last line that carried a time
  bool loading_ = false;             // the traceback that is being read goes through a load
  std::optional<Failure> first_;
  std::map<int, Failure> by_rank_;
  std::map<int, ExitReport> exits_;
  std::optional<bool> timeout_equals_;
  std::int64_t count_ = 0;
};

// log.triage.
extern const LogWant kTriageWant;
absl::StatusOr<CheckOutput> CheckTriage(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_LOG_TRIAGE_H_
