#ifndef COMMON_LOG_ANALYSIS_SCAN_SCANNER_H_
#define COMMON_LOG_ANALYSIS_SCAN_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/log_analysis/scan/literal_filter.h"
#include "common/log_analysis/scan/pattern_database.h"
#include "common/log_analysis/scan/timestamp.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::log_scan {

using Patterns = google::protobuf::RepeatedPtrField<knowledge::v1::SignalPattern>;

// A known message found in a text.
struct Hit {
  // Its place in Scanner::patterns().
  std::size_t pattern = 0;
  std::int64_t count = 0;       // lines that contain it
  std::int64_t first_line = 0;  // 1 and up
  std::int64_t last_line = 0;
  std::string excerpt;  // of the first line, cleaned, at most 512 bytes
  // Earliest and latest time of its lines; unset: unknown.
  std::optional<absl::Time> first_time;
  std::optional<absl::Time> last_time;
  std::optional<std::int32_t> rank;  // the writer of the first line, if named there
};

// Result of the scan of a text.
struct ScanResult {
  std::vector<Hit> hits;   // by first line, then by pattern
  std::int64_t lines = 0;  // an unfinished last line counts
  std::int64_t bytes = 0;
  std::int64_t binary_lines = 0;    // lines with NUL bytes; the NUL bytes are dropped
  std::int64_t binary_matches = 0;  // matches in lines that are data, not text; not counted as hits
  std::int64_t long_lines = 0;      // lines longer than a block, scanned in pieces
  std::int64_t undated_lines = 0;   // matching lines with a time of unknown year
};

// Origin of a text.
enum class TextKind {
  kDescription,  // written by a person: all patterns apply
  kLog,          // written by a program: all patterns except those for descriptions only
};

// A statement of a description about something that a pattern names.
struct Mention {
  knowledge::v1::Outcome outcome = knowledge::v1::OUTCOME_UNSPECIFIED;  // WORKS, FAILS or neither
  std::string name;  // distinguishes it from others that match the pattern: "2.19.1"
};

// Finds all known messages in one pass. Immutable and thread-safe; a LogScan has the state for one
// text.
//
// A log is read at most twice. The first pass finds lines that may contain a message: by texts one
// of which every match contains (LiteralFilter), and by the few patterns without such texts. Only
// those lines are matched with all patterns. The first pass only saves time; it does not change the
// result.
class Scanner {
 public:
  // Compiling 4,800 patterns takes about fifteen seconds on two cores; `cache_directory` keeps the
  // result for the next process ("": no cache). INVALID_ARGUMENT names the pattern that does not
  // compile.
  static absl::StatusOr<std::unique_ptr<const Scanner>> Create(Patterns patterns,
                                                               const std::string& cache_directory);
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  const Patterns& patterns() const { return patterns_; }
  bool from_cache() const;

  // Log patterns without filter texts; each makes every scan slower.
  const std::vector<std::size_t>& without_texts() const { return always_.members; }

 private:
  friend class LogScan;
  explicit Scanner(Patterns patterns);

  // Patterns compiled together, and their places in patterns_.
  struct Group {
    std::vector<std::size_t> members;
    std::unique_ptr<const PatternDatabase> database;
    const PatternDatabase* operator->() const { return database.get(); }
  };

  Patterns patterns_;
  // Patterns for all texts, and those for descriptions only. The latter are loose, and would make
  // the scan of a log many times slower.
  Group common_;
  std::vector<Group> spoken_;
  // Finds the lines of a log to match with common_.
  LiteralFilter filter_;
  Group always_;  // those of common_ that the filter cannot find
};

// The scan of one text, fed in pieces. Memory is constant for any size of the text, and the result
// does not depend on how the text is split. Lines end in "\n" or "\r\n". A match never spans lines.
// Not thread-safe.
class LogScan {
 public:
  struct Options {
    TextKind kind = TextKind::kLog;
    TimeContext time;
    // A line longer than this is scanned in pieces that overlap by kOverlap; '^' and '$' also match
    // at the ends of a piece.
    std::size_t block_bytes = 1 << 20;
    // Reads the statement of a description about the mention that ends at byte `end`. Without it no
    // pattern with an outcome is found.
    std::function<Mention(absl::string_view text, std::size_t end)> mention;
  };
  static constexpr std::size_t kOverlap = 4096;
  static constexpr std::size_t kExcerptBytes = 512;

  // `scanner` must outlive the scan.
  LogScan(const Scanner& scanner, Options options);

  void Feed(absl::string_view chunk);

  // Ends the text. Called once, last.
  ScanResult Finish();

  // Bytes of the text that are currently buffered.
  std::size_t buffered_bytes() const { return line_.size(); }

 private:
  // A line or a piece of one.
  struct Line {
    absl::string_view text;
    std::int64_t number = 0;
    bool from_start = true;
    // The text around it, and where the line begins there.
    absl::string_view around;
    std::size_t begin = 0;
    // Read on demand.
    bool timed = false;
    std::optional<TimeStamp> stamp;
  };

  void FeedPart(absl::string_view part);
  void ScanWholeLines(absl::string_view block);
  void ScanCleanLines(absl::string_view block);
  void ScanPiece(bool line_ends, bool text_ends);
  void FindAlways(absl::string_view block);
  void ScanLine(const Scanner::Group& group, PatternDatabase::Scratch& scratch, Line line);
  void Collect(const Scanner::Group& group, PatternDatabase::Scratch& scratch, const Line& line);
  bool TellsOutcome(const Line& line, std::size_t pattern, std::size_t end);
  void RecordDifferences();
  void Record(Line& line, std::size_t pattern, std::size_t end);
  void NoteTime(Line& line, Hit& hit);

  const Scanner& scanner_;
  const Options options_;
  PatternDatabase::Scratch common_scratch_;
  std::vector<PatternDatabase::Scratch> spoken_scratch_;  // none for a log
  PatternDatabase::Scratch always_scratch_;
  std::string line_;   // a line without its end so far, or its last piece
  std::string clean_;  // a normalized block
  // Begin and end of the lines of the block that match a pattern of always_.
  std::vector<std::pair<std::size_t, std::size_t>> always_lines_;
  std::vector<std::size_t> matched_;     // patterns of the line
  std::vector<std::size_t> ends_;        // per pattern: end of its first match, or kNowhere
  std::vector<Hit> hits_;                // per pattern; count 0: not found
  std::vector<std::int64_t> last_line_;  // per pattern: the last counted line; 0: none
  // Statements about a name, and the first line with one; for patterns with outcome DIFFERS.
  struct Told {
    bool works = false;
    bool fails = false;
    std::int64_t line = 0;
    std::string excerpt;
  };
  std::map<std::size_t, std::map<std::string, Told>> told_;
  std::map<std::size_t, int> mentions_;  // per pattern with an outcome: number of mentions read
  std::int64_t lines_ = 0;               // finished lines
  bool continued_ = false;               // line_ began in a piece that was already scanned
  bool in_binary_ = false;               // that piece has NUL bytes
  ScanResult result_;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_SCANNER_H_
