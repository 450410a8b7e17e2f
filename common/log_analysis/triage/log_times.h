#ifndef COMMON_LOG_ANALYSIS_TRIAGE_LOG_TIMES_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_LOG_TIMES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/triage/collected.h"
#include "common/log_analysis/triage/job_triage.h"

namespace galen::triage {

// The times of the lines of a job's logs. Finds the first and the last time of each log, and the
// first one after its last step. Not thread-safe.
class LogTimes {
 public:
  // `options` must outlive this.
  explicit LogTimes(const TriageOptions& options) : options_(options) {}

  // Begins the next log. `log` gets its times, and must last until EndLog().
  void BeginLog(Collected::OfLog& log);
  // Searches the next block of the log.
  void ReadBlock(absl::string_view block);
  // A new step was reported; `behind`: the rest of the block after its line.
  void NoteStep(absl::string_view behind);
  // Ends the log; `tail`: its end.
  void EndLog(absl::string_view tail);

  // The time that `text` states.
  std::optional<absl::Time> TimeOf(absl::string_view text) const;
  // The time that `line` begins with.
  std::optional<absl::Time> TimeOfLine(absl::string_view line) const;
  // Adds a time of the log; returns it.
  std::optional<absl::Time> Note(std::optional<absl::Time> time);

 private:
  void LookForBegin(absl::string_view block);
  void LookBehindStep(absl::string_view block);

  const TriageOptions& options_;
  std::optional<absl::Time> near_;  // the first time of the logs, if it has a year
  Collected::OfLog* log_ = nullptr;
  int begin_looked_ = 0;
  int behind_left_ = 0;  // lines left to search for a time after the last step
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_LOG_TIMES_H_
