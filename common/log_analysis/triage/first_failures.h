#ifndef COMMON_LOG_ANALYSIS_TRIAGE_FIRST_FAILURES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_FIRST_FAILURES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/triage/process_end.h"

namespace galen::triage {

// A line of one of a job's logs.
struct JobLine {
  std::uintptr_t log_id = 0;  // id of the log
  absl::string_view log;      // name of the log
  absl::string_view node;     // writer; "": unknown
  std::optional<int> rank;    // rank of the log
  std::int64_t number = 0;    // 1 and up
  absl::string_view text;
  // A line at or before this one with a time, if known; otherwise this line is searched for one.
  absl::string_view dated;
};

// Finds the first failure of a job line by line in constant memory. Lines of one log must come in
// order; logs may come in any order.
class FirstFailures {
 public:
  struct Failure {
    std::string signature;
    std::string text;
    std::string log;
    std::string node;
    std::int64_t line = 0;
    std::optional<absl::Time> time;
    std::optional<int> rank;
    bool of_survivor = false;  // it reports the loss of a peer
  };

  // Returns the index of the first signature, the most specific first, that matches a line; -1:
  // none.
  using FirstOf = std::function<int(absl::string_view line)>;

  // `signatures`: their names, as ParseSignatureName() reads them. A failure of a rank itself
  // within a minute takes precedence over what survivors report. A program that ended normally
  // survived all failures in its log so far; one whose processes are connected survived those of
  // the start, unless others are among them. Both only if no process ended with an error or was
  // restarted. `near`: a time that the logs are about, or infinite.
  FirstFailures(std::vector<std::string> signatures, FirstOf first_of, absl::Time near);

  // Returns the signature of the line; "": none.
  absl::string_view Add(const JobLine& line);

  // The first failure; nothing: there is none.
  const std::optional<Failure>& first() const { return first_; }
  // Failures by rank, at most kMaxRanks.
  const std::map<int, Failure>& by_rank() const { return by_rank_; }
  // By rank (-1: unknown), at most kMaxRanks.
  const std::map<int, ExitReport>& exits() const { return exits_; }
  std::int64_t count() const { return count_; }
  // Whether a barrier was aborted exactly at its configured timeout; nothing: no collective was
  // aborted.
  std::optional<bool> timeout_equals_configured() const { return timeout_equals_; }

  static constexpr std::size_t kMaxRanks = 100'000;

 private:
  // The state before the current log.
  struct Before {
    std::optional<Failure> first;
    std::map<int, std::optional<Failure>> by_rank;  // of ranks that failed in this log
    std::int64_t count = 0;
  };

  bool Earlier(const Failure& a, const Failure& b) const;
  void NoteExit(const JobLine& line);
  void ForgetSurvived();

  const std::vector<std::string> signatures_;
  const FirstOf first_of_;
  const absl::Time near_;
  std::uintptr_t log_ = 0;
  std::optional<absl::Time> clock_;  // of the last line with a time
  bool loading_ = false;             // the current traceback passes through a load
  bool began_anew_ = false;          // a process of the log ended or was restarted
  bool beyond_start_ = false;        // a failure of the log is not one of the start
  Before before_;
  std::optional<Failure> first_;
  std::map<int, Failure> by_rank_;
  std::map<int, ExitReport> exits_;
  std::optional<bool> timeout_equals_;
  std::int64_t count_ = 0;
};

// Expressions: a line that matches none of them reports neither an abnormal end of a process nor a
// restart.
std::vector<std::string> BeganAnewExpressions();

// Expressions that Add() uses in addition to the signatures.
std::vector<std::string> FirstFailureExpressions();

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_FIRST_FAILURES_H_
