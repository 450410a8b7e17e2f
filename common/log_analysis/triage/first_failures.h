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
  std::uintptr_t log_id = 0;  // tells the log from others
  absl::string_view log;      // its name
  absl::string_view node;     // that wrote it; "" where it is not known
  std::optional<int> rank;    // whose log it is
  std::int64_t number = 0;    // 1 and up
  absl::string_view text;
  // A line at or before this one that carries a time, where it is known; else this line is looked
  // at.
  absl::string_view dated;
};

// The first failure of a job, found line by line in constant memory. Lines of one log have to come
// in their order; logs may come in any.
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
    bool of_survivor = false;  // it tells that a peer is gone
  };

  // What a failure looks like: the place of the first signature, the most specific first, that a
  // line holds; -1 for none.
  using FirstOf = std::function<int(absl::string_view line)>;

  // `signatures`: their names; those named "none:..." look like a failure and are none, those named
  // "after:NAME" are NAME as survivors tell it: a failure of a rank itself within a minute comes
  // before them. One named "done:..." tells that the program came to its end by itself: it survived
  // all failures that its log holds so far, unless a process ended with an error or was restarted.
  // `near`: a time that the logs are about, or infinite.
  FirstFailures(std::vector<std::string> signatures, FirstOf first_of, absl::Time near);

  // Gives the signature that the line shows; "" where it shows none.
  absl::string_view Add(const JobLine& line);

  // The first one; nothing when there is none.
  const std::optional<Failure>& first() const { return first_; }
  // Failures by rank, at most kMaxRanks.
  const std::map<int, Failure>& by_rank() const { return by_rank_; }
  // By rank, -1 where it is not known, at most kMaxRanks.
  const std::map<int, ExitReport>& exits() const { return exits_; }
  std::int64_t count() const { return count_; }
  // A barrier was given up after just the time that it was configured to wait; nothing when no
  // collective was given up.
  std::optional<bool> timeout_equals_configured() const { return timeout_equals_; }

  static constexpr std::size_t kMaxRanks = 100'000;

 private:
  // The state before the log that is being read.
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
  std::optional<absl::Time> clock_;  // of the last line that carried a time
  bool loading_ = false;             // the traceback that is being read goes through a load
  bool began_anew_ = false;          // a process of the log ended or was started again
  Before before_;
  std::optional<Failure> first_;
  std::map<int, Failure> by_rank_;
  std::map<int, ExitReport> exits_;
  std::optional<bool> timeout_equals_;
  std::int64_t count_ = 0;
};

// Expressions: a line that matches none of them tells neither that a process ended in another way
// than by itself nor that one was started again.
std::vector<std::string> BeganAnewExpressions();

// Expressions: what Add() makes something of, beside the signatures.
std::vector<std::string> FirstFailureExpressions();

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_FIRST_FAILURES_H_
