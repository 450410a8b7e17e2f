#ifndef SERVICES_NODE_CHECKS_SYSTEM_LOG_MATCHER_H_
#define SERVICES_NODE_CHECKS_SYSTEM_LOG_MATCHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/log_analysis/scan/pattern_database.h"

namespace galen::node {

// Which of several sets of expressions match a line, all looked for at once. Immutable and
// thread-safe.
class LogMatcher {
 public:
  static constexpr std::size_t kMaxSets = 64;
  // Bit i is set for a line that the i-th set matches.
  using Sets = std::uint64_t;

  // `sets`: at most kMaxSets. A set with an expression that cannot be looked for matches each line.
  // `cache_directory`: see log_scan::PatternDatabase.
  LogMatcher(absl::Span<const std::vector<std::string>> sets, const std::string& cache_directory);

  // Sets that match each line. Scan() does not report them.
  Sets every_line() const { return every_line_; }

  // A line that is matched: its place in the text, without its newline.
  struct Line {
    std::size_t begin = 0;
    std::size_t end = 0;
    Sets sets = 0;
  };

  // Working memory for one scan at a time.
  log_scan::PatternDatabase::Scratch NewScratch() const { return database_->NewScratch(); }

  // The lines of `block`, which holds whole lines, that one of the sets matches, in order, into
  // `lines`; and now and then a line that none matches.
  void Scan(absl::string_view block, log_scan::PatternDatabase::Scratch& scratch,
            std::vector<Line>& lines) const;

 private:
  std::unique_ptr<const log_scan::PatternDatabase> database_;
  std::vector<Sets> sets_;  // of each expression of the database
  Sets every_line_ = 0;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_LOG_MATCHER_H_
