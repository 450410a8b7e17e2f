#ifndef COMMON_LOG_ANALYSIS_TRIAGE_LINE_READER_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/log_analysis/triage/collected.h"
#include "common/log_analysis/triage/first_failures.h"
#include "common/log_analysis/triage/job_triage.h"
#include "common/log_analysis/triage/log_times.h"
#include "common/log_analysis/triage/step_line.h"

namespace galen::triage {

// Reads the lines that the catalogue matches, and collects what they say: steps, facts and
// failures. Not thread-safe.
class LineReader {
 public:
  // Bytes of a line that are read.
  static constexpr std::size_t kMostOfLine = 8192;
  // Bytes of a text that are kept.
  static constexpr std::size_t kMostText = 512;

  // An expression of the automaton, and the line that it matches.
  struct Match {
    std::size_t begin;
    std::size_t end;
    std::size_t expression;
  };

  struct Line {
    absl::string_view before;  // the end of the log before the block
    absl::string_view block;
    std::size_t begin = 0;
    std::size_t end = 0;
    absl::string_view text;  // at most kMostOfLine
    std::int64_t number = 0;
  };

  // All must outlive this. Adds to `found` an entry per format and class.
  LineReader(const CompiledCatalogue::Inside& inside, const TriageOptions& options, LogTimes& times,
             Collected& found);
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Begins log number `log` of those in `found`. `rank`: as in JobTriage::BeginLog().
  void BeginLog(std::size_t log, absl::string_view path, std::optional<int> rank);
  // `matches`: those of the line, by expression. True if it reported a new step.
  bool Read(const Line& line, absl::Span<const Match> matches);
  // After the last line.
  void Finish();

  // The writer of any line of the log; `prefix`: its WriterPrefix().
  std::string WriterOf(absl::string_view line, absl::string_view prefix) const;

 private:
  std::optional<int> RankOfPath(absl::string_view path) const;
  int FirstSignature(absl::string_view line);
  Collected::Mark MarkOf(const Line& line, std::optional<absl::Time> time) const;
  std::optional<absl::Time> TimeNear(const Line& line) const;
  bool ReadStep(const Line& line, std::size_t index, bool* stepped);
  bool IsBarOfSteps(std::size_t index, const StepLine& step, absl::string_view text);
  void ReadFact(const Line& line, std::size_t index);
  void NoteExit(int code);
  void ReadFailure(const Line& line, std::size_t best_class);

  const CompiledCatalogue::Inside& inside_;
  const TriageOptions& options_;
  LogTimes& times_;
  Collected& found_;
  FirstFailures failures_;
  std::vector<int> signature_places_;
  std::size_t log_ = 0;
  std::optional<int> rank_;
  std::vector<std::int64_t> steps_of_track_;
  std::vector<double> bar_elapsed_;  // longest time of a bar per track; -1: none
  std::vector<std::optional<std::string>> first_writer_;
};

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_LINE_READER_H_
