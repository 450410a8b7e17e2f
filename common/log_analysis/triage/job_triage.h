#ifndef COMMON_LOG_ANALYSIS_TRIAGE_JOB_TRIAGE_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_JOB_TRIAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/triage/catalogue.h"
#include "common/log_analysis/triage/report.h"
#include "common/log_analysis/triage/status.h"
#include "common/log_analysis/triage/step_line.h"

namespace galen::triage {

// A catalogue with all expressions compiled into one automaton. Immutable, thread-safe.
class CompiledCatalogue {
 public:
  // `signatures`: of the check log.triage. `cache_directory`: see log_scan::PatternDatabase.
  // INVALID_ARGUMENT names an expression that the scan does not support, or a class with an unknown
  // signature.
  static absl::StatusOr<std::unique_ptr<const CompiledCatalogue>> Create(
      Catalogue catalogue, const Signatures& signatures, const std::string& cache_directory);
  ~CompiledCatalogue();
  CompiledCatalogue(const CompiledCatalogue&) = delete;
  CompiledCatalogue& operator=(const CompiledCatalogue&) = delete;

  const Catalogue& catalogue() const;

 private:
  friend class JobTriage;
  friend class LineReader;
  struct Inside;
  explicit CompiledCatalogue(std::unique_ptr<const Inside> inside);
  std::unique_ptr<const Inside> inside_;
};

// A step as reported by the first writer of its log.
struct ToldStep {
  const StepLine* step = nullptr;
  std::size_t log = 0;
  std::optional<absl::Time> time;  // of its own line
  std::optional<absl::Time> near;  // of the closest line before it with a time
};

// A fact in a line.
struct ToldFact {
  FactKind kind = FactKind::kJob;
  std::optional<std::int64_t> number;
  std::string text;
  std::optional<absl::Time> time;
};

struct TriageOptions {
  // State from the scheduler itself; takes precedence over the logs.
  SchedulerState scheduler = SchedulerState::kUnknown;
  // The time for which the status is wanted.
  std::optional<absl::Time> now;
  // A time that the logs are about: gives the year of stamps without one.
  std::optional<absl::Time> near;
  // No line was written later; nothing: now.
  std::optional<absl::Time> latest;
  // Called for each step and fact as it is read; may be null.
  std::function<void(const ToldStep&)> on_step;
  std::function<void(const ToldFact&)> on_fact;
};

// Reads the logs of a job and reports its status, its cause of death and its progress: one pass,
// constant memory. Not thread-safe.
class JobTriage {
 public:
  // `compiled` must outlive this.
  JobTriage(const CompiledCatalogue& compiled, TriageOptions options);
  ~JobTriage();
  JobTriage(const JobTriage&) = delete;
  JobTriage& operator=(const JobTriage&) = delete;

  // Begins the next log. `rank`: the rank of the log; if unknown, the rank in the path, if any.
  void BeginLog(absl::string_view name, std::optional<int> rank = std::nullopt);
  // The next piece of the log, of any size.
  void Feed(absl::string_view chunk);
  // Ends the log; `trouble`: why it was not read completely.
  void EndLog(absl::string_view trouble = "");

  // Once, last.
  JobReport Finish();

  // Maximum number of separate logs; later ones count as one.
  static constexpr std::size_t kMaxLogs = 10'000;

 private:
  class Pass;
  std::unique_ptr<Pass> pass_;
  const Catalogue& catalogue_;
  const TriageOptions options_;
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_JOB_TRIAGE_H_
