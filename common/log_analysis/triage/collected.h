#ifndef COMMON_LOG_ANALYSIS_TRIAGE_COLLECTED_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_COLLECTED_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/triage/catalogue.h"
#include "common/log_analysis/triage/first_failures.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/report.h"
#include "common/log_analysis/triage/step_track.h"

namespace galen::triage {

// Result of reading all logs once; Assemble() turns it into the report.
struct Collected {
  // Position of a line, and the number of steps of its log so far.
  struct Mark {
    std::size_t log = 0;
    std::int64_t line = 0;
    std::int64_t steps = 0;
    std::optional<absl::Time> time;
  };

  struct ClassHit {
    std::int64_t count = 0;
    Mark first;
    Mark last;
    std::string signature;
    std::string text;
    std::string writer;
    absl::flat_hash_set<std::string> writers;  // at most kMaxWriters
    static constexpr std::size_t kMaxWriters = 1024;
  };

  struct OfLog {
    std::optional<absl::Time> begin;  // the first time in it
    std::optional<absl::Time> end;    // the last time in it
    // The first time after the last step: the step was done by then.
    std::optional<absl::Time> after_step;
    std::int64_t steps = 0;
    // The last line that says that a program began; 0: none. Earlier lines are from an earlier run.
    std::int64_t begun = 0;
  };

  struct Number {
    std::int64_t value = 0;
    Mark at;
  };

  std::vector<LogRead> logs;
  std::vector<OfLog> of_logs;
  std::vector<std::unique_ptr<StepTrack>> tracks;  // one per format, in the catalogue's order
  // Per track: it is a progress bar that only seems to count the training steps.
  std::vector<bool> guessed;
  std::vector<ClassHit> classes;               // in the catalogue's order
  std::map<FactKind, Number> numbers;          // the last of each
  std::map<FactKind, std::string> texts;       // the first of each
  std::map<FactKind, Mark> marks;              // the last line of each kind
  std::map<FactKind, std::string> mark_texts;  // and its text
  std::map<int, ExitReport> exits;
};

// Pure.
JobReport Assemble(const Catalogue& catalogue, const TriageOptions& options, Collected collected);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_COLLECTED_H_
