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

// What one pass over the logs found; Assemble() makes the report of it.
struct Collected {
  // Where a line stands, and how far the steps of its log had come.
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
    std::optional<absl::Time> begin;  // the first time that it tells
    std::optional<absl::Time> end;    // the last
    // The first time behind the last step: it was done by then.
    std::optional<absl::Time> after_step;
    std::int64_t steps = 0;
    // The last line that says that a program began; 0: none does. What stands before it is of an
    // earlier run.
    std::int64_t begun = 0;
  };

  struct Number {
    std::int64_t value = 0;
    Mark at;
  };

  std::vector<LogRead> logs;
  std::vector<OfLog> of_logs;
  std::vector<std::unique_ptr<StepTrack>> tracks;  // one a format, in the catalogue's order
  // Tracks of bars of which no line says that they count the steps that were asked for.
  std::vector<bool> guessed;
  std::vector<ClassHit> classes;               // in the catalogue's order
  std::map<FactKind, Number> numbers;          // the last of each
  std::map<FactKind, std::string> texts;       // the first of each
  std::map<FactKind, Mark> marks;              // the last line of each kind
  std::map<FactKind, std::string> mark_texts;  // and what it says
  std::map<int, ExitReport> exits;
};

// Pure.
JobReport Assemble(const Catalogue& catalogue, const TriageOptions& options, Collected collected);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_COLLECTED_H_
