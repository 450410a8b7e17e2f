#ifndef COMMON_LOG_ANALYSIS_SCAN_PATTERN_DATABASE_H_
#define COMMON_LOG_ANALYSIS_SCAN_PATTERN_DATABASE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

struct hs_database;
struct hs_scratch;

namespace galen::log_scan {

// One regular expression, in the syntax that RE2 and Hyperscan share.
struct Expression {
  std::string pattern;
  std::string name;  // for messages: "signals/nccl.yaml:12: nccl.connect_refused"
};

// Many expressions compiled into one automaton. Expressions see bytes, '.' matches no newline, and
// '^' and '$' hold at the ends of a line. Immutable and thread-safe.
class PatternDatabase {
 public:
  // Compiles, or reads from `cache_directory` the result of an earlier process with the same
  // expressions, the same Hyperscan and the same kind of CPU ("": no cache; an unreadable or
  // unwritable cache only costs time). INVALID_ARGUMENT names the expression that does not compile.
  static absl::StatusOr<std::unique_ptr<const PatternDatabase>> Create(
      absl::Span<const Expression> expressions, const std::string& cache_directory);
  ~PatternDatabase();
  PatternDatabase(const PatternDatabase&) = delete;
  PatternDatabase& operator=(const PatternDatabase&) = delete;

  // Working memory of one scan at a time.
  struct ScratchDeleter {
    void operator()(hs_scratch* scratch) const;
  };
  using Scratch = std::unique_ptr<hs_scratch, ScratchDeleter>;
  Scratch NewScratch() const;

  // Calls `on_match(index, end)` for every end of every match of every expression, in no particular
  // order; a match may span lines if the expression can.
  void Scan(absl::string_view block, Scratch& scratch,
            absl::FunctionRef<void(std::size_t index, std::size_t end)> on_match) const;

  bool from_cache() const { return from_cache_; }

 private:
  PatternDatabase() = default;

  hs_database* database_ = nullptr;  // null when there are no expressions
  Scratch prototype_;
  bool from_cache_ = false;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_PATTERN_DATABASE_H_
