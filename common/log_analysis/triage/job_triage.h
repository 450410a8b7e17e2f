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

// A catalogue made ready: all expressions compiled into one automaton. Immutable, thread-safe.
class CompiledCatalogue {
 public:
  // `signatures`: of the check log.triage. `cache_directory`: see log_scan::PatternDatabase.
  // INVALID_ARGUMENT names an expression that the scan cannot take, or a class that names a
  // signature that there is not.
  static absl::StatusOr<std::unique_ptr<const CompiledCatalogue>> Create(
      Catalogue catalogue, const Signatures& signatures, const std::string& cache_directory);
  ~CompiledCatalogue();
  CompiledCatalogue(const CompiledCatalogue&) = delete;
  CompiledCatalogue& operator=(const CompiledCatalogue&) = delete;

  const Catalogue& catalogue() const;

 private:
  friend class JobTriage;
  struct Inside;
  explicit CompiledCatalogue(std::unique_ptr<const Inside> inside);
  std::unique_ptr<const Inside> inside_;
};

// A step as the writer that came first in its log told it.
struct ToldStep {
  const StepLine* step = nullptr;
  std::size_t log = 0;
  std::optional<absl::Time> time;  // of its own line
  std::optional<absl::Time> near;  // of the closest line before it that has one
};

// A line that is a fact.
struct ToldFact {
  FactKind kind = FactKind::kJob;
  std::optional<std::int64_t> number;
  std::string text;
  std::optional<absl::Time> time;
};

struct TriageOptions {
  // What is known of the scheduler beside the logs; it counts more than what they say.
  SchedulerState scheduler = SchedulerState::kUnknown;
  // The moment that is asked about.
  std::optional<absl::Time> now;
  // A moment that the logs are about: tells the year of stamps that have none.
  std::optional<absl::Time> near;
  // No line was written later; nothing: now.
  std::optional<absl::Time> latest;
  // Are told of each as it is read; null: nobody is.
  std::function<void(const ToldStep&)> on_step;
  std::function<void(const ToldFact&)> on_fact;
};

// Says of the logs of a job how it is, what it died of and how far it came: one pass, constant
// memory. Not thread-safe.
class JobTriage {
 public:
  // `compiled` must outlive this.
  JobTriage(const CompiledCatalogue& compiled, TriageOptions options);
  ~JobTriage();
  JobTriage(const JobTriage&) = delete;
  JobTriage& operator=(const JobTriage&) = delete;

  // Begins a log, after the one before it. `rank`: whose log it is; where it is not known, and the
  // path names one, that one's.
  void BeginLog(absl::string_view name, std::optional<int> rank = std::nullopt);
  // The next piece of the log, cut in any way.
  void Feed(absl::string_view chunk);
  // Ends the log; `trouble`: why it was not read to its end.
  void EndLog(absl::string_view trouble = "");

  // Once, last.
  JobReport Finish();

  // At most so many logs are told apart; later ones count as one.
  static constexpr std::size_t kMaxLogs = 10'000;

 private:
  class Pass;
  std::unique_ptr<Pass> pass_;
  const Catalogue& catalogue_;
  const TriageOptions options_;
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_JOB_TRIAGE_H_
