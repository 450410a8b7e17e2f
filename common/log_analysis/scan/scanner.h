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

// A known message that a text holds.
struct Hit {
  // Its place in Scanner::patterns().
  std::size_t pattern = 0;
  std::int64_t count = 0;       // lines that hold it
  std::int64_t first_line = 0;  // 1 and up
  std::int64_t last_line = 0;
  std::string excerpt;  // of the first line, cleaned, at most 512 bytes
  // Earliest and latest of its lines, where they carry a time that can be told.
  std::optional<absl::Time> first_time;
  std::optional<absl::Time> last_time;
  std::optional<std::int32_t> rank;  // the one that the first line names as its writer
};

// What a text holds.
struct ScanResult {
  std::vector<Hit> hits;   // by first line, then by pattern
  std::int64_t lines = 0;  // an unfinished last line counts
  std::int64_t bytes = 0;
  std::int64_t binary_lines = 0;    // lines with NUL bytes; they are read without them
  std::int64_t binary_matches = 0;  // matches in lines that are data, not text; they are no hits
  std::int64_t long_lines = 0;      // lines that did not fit a block and were scanned in pieces
  std::int64_t undated_lines = 0;   // matching lines whose time lacks a year that nothing tells
};

// What a text is.
enum class TextKind {
  kDescription,  // words of a person: all patterns apply
  kLog,          // written by a program: all but those for descriptions only
};

// What a description tells of something that a pattern names.
struct Mention {
  knowledge::v1::Outcome outcome = knowledge::v1::OUTCOME_UNSPECIFIED;  // WORKS, FAILS or neither
  std::string name;  // what tells it from others that the pattern names: "2.19.1"
};

// Finds all known messages in one pass. Immutable and thread-safe; a LogScan holds what one text
// needs.
//
// A log is looked through twice at most: first for lines that may hold a message, by texts of which
// every match of a pattern holds one (LiteralFilter), and by the few patterns that have no such
// texts. Only those lines are held against the patterns. What is found is what the patterns find,
// line by line; the first look only saves time.
class Scanner {
 public:
  // Compiling 3,200 patterns takes some six seconds on two cores; `cache_directory` keeps the
  // result for the next process, "" for nowhere. INVALID_ARGUMENT names the pattern that does not
  // compile.
  static absl::StatusOr<std::unique_ptr<const Scanner>> Create(Patterns patterns,
                                                               const std::string& cache_directory);
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  const Patterns& patterns() const { return patterns_; }
  bool from_cache() const { return common_->from_cache() && spoken_->from_cache(); }

  // Patterns of logs that have no texts to be found by; each makes every scan slower.
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
  // Patterns for descriptions only are loose, and would make the scan of a log many times slower.
  Group common_;
  Group spoken_;
  // What finds the lines of a log that are held against common_.
  LiteralFilter filter_;
  Group always_;  // those of common_ that the filter cannot find
};

// The scan of one text, fed piece by piece. Memory is constant whatever the size of the text, and
// the result does not depend on how the text is cut into pieces. Lines end in "\n" or "\r\n".
// A match never reaches over lines. Not thread-safe.
class LogScan {
 public:
  struct Options {
    TextKind kind = TextKind::kLog;
    TimeContext time;
    // A line longer than this is scanned in pieces that overlap by kOverlap; '^' and '$' hold at
    // the ends of a piece too.
    std::size_t block_bytes = 1 << 20;
    // Reads what a description tells of the mention that ends at byte `end`. Without it no pattern
    // with an outcome is found.
    std::function<Mention(absl::string_view text, std::size_t end)> mention;
  };
  static constexpr std::size_t kOverlap = 4096;
  static constexpr std::size_t kExcerptBytes = 512;

  // `scanner` must outlive the scan.
  LogScan(const Scanner& scanner, Options options);

  void Feed(absl::string_view chunk);

  // Ends the text. Called once, last.
  ScanResult Finish();

  // Bytes of the text that are held at this moment.
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
    // Read when the first pattern asks.
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
  PatternDatabase::Scratch spoken_scratch_;  // null for a log
  PatternDatabase::Scratch always_scratch_;
  std::string line_;   // a line of which the end has not come yet, or its last piece
  std::string clean_;  // a block without what Normalize() drops
  // Begin and end of the lines of the block that hold a pattern of always_.
  std::vector<std::pair<std::size_t, std::size_t>> always_lines_;
  std::vector<std::size_t> matched_;     // patterns of the line
  std::vector<std::size_t> ends_;        // per pattern: where its first match ends, kNowhere
  std::vector<Hit> hits_;                // per pattern; count 0: not found
  std::vector<std::int64_t> last_line_;  // per pattern: line that was counted last, 0 for none
  // Of patterns with outcome DIFFERS, by name: what was told of it, and where first.
  struct Told {
    bool works = false;
    bool fails = false;
    std::int64_t line = 0;
    std::string excerpt;
  };
  std::map<std::size_t, std::map<std::string, Told>> told_;
  std::map<std::size_t, int> mentions_;  // per pattern with an outcome: how many were read
  std::int64_t lines_ = 0;               // that are finished
  bool continued_ = false;               // line_ began in a piece that was scanned
  bool in_binary_ = false;               // and has NUL bytes there
  ScanResult result_;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_SCANNER_H_
