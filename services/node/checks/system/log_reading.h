#ifndef SERVICES_NODE_CHECKS_SYSTEM_LOG_READING_H_
#define SERVICES_NODE_CHECKS_SYSTEM_LOG_READING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/host/host.h"
#include "services/node/checks/system/log_lines.h"
#include "services/node/checks/system/log_matcher.h"
#include "services/node/checks/system/log_wants.h"

namespace galen::node {

// Reads one log and gives the lines that `matcher` finds, with the sets that each matches, in
// order; gives the number of lines. `dated`: sets whose lines want LogLine::dated. Memory is
// constant, whatever the log is.
absl::StatusOr<std::int64_t> ScanLog(
    const host::JobLog& log, const LogMatcher& matcher, LogMatcher::Sets dated,
    absl::FunctionRef<void(const LogLine&, LogMatcher::Sets)> on_line);

// One reading of some logs for some wants, and what it found. Thread-safe once it is made.
class LogReading {
 public:
  // Limits of the lines kept for ForEachWantedLine.
  static constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;  // of one want
  static constexpr std::size_t kMostKeptInAll = std::size_t{8} << 20;
  // Logs of no more than this together are kept whole: compiling a matcher for all wants takes
  // longer than reading them.
  static constexpr std::int64_t kSmall = 256 << 10;

  // Reads all of `logs`. `wants` holds kMaxSets at most, and constants only.
  LogReading(std::vector<host::JobLog> logs, absl::Span<const LogWant* const> wants,
             const FoldBasis& basis);

  const std::vector<host::JobLog>& logs() const { return logs_; }
  // How many lines the i-th log has, or why it could not be read.
  const absl::StatusOr<std::int64_t>& lines(std::size_t i) const { return lines_[i]; }

  // The fold of a want that was read for and has one.
  std::shared_ptr<const LogFold> Fold(const LogWant& want, const FoldBasis& basis);

  // The lines of a want that was read for, of the logs for which `take` holds. Reads those logs
  // again when the lines were too many to keep.
  void ForEachLine(const LogWant& want, const knowledge::Knowledge& knowledge,
                   absl::FunctionRef<bool(std::size_t log)> take,
                   absl::FunctionRef<void(const LogLine&)> on_line) const;

 private:
  struct Kept {
    std::size_t log = 0;
    std::int64_t number = 0;
    std::string text;
    std::string dated;
  };
  struct Result {
    const LogWant* want = nullptr;
    std::vector<Kept> kept;
    std::size_t bytes = 0;  // of kept
    bool all_kept = true;
    std::shared_ptr<LogFold> fold;
  };
  // A small log: its lines one after the other, and where each ends.
  struct Text {
    std::string text;
    std::vector<std::uint32_t> ends;
  };

  bool ReadTexts();
  void Scan(const FoldBasis& basis);
  void Keep(Result& result, std::size_t log, const LogLine& line);
  std::size_t IndexOf(const LogWant& want) const;
  void ForEachTextLine(std::size_t log, absl::FunctionRef<void(const LogLine&)> on_line) const;

  const std::vector<host::JobLog> logs_;
  std::vector<absl::StatusOr<std::int64_t>> lines_;
  bool is_small_ = false;
  std::vector<Text> texts_;  // by log, when small
  std::size_t kept_in_all_ = 0;
  std::vector<Result> results_;
  // For small logs the folds are made on request.
  Mutex mu_;
  std::vector<std::shared_ptr<const LogFold>> folds_ ABSL_GUARDED_BY(mu_);
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_LOG_READING_H_
