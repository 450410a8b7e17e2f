#ifndef COMMON_LOGS_SCANNER_H_
#define COMMON_LOGS_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/logs/pattern_database.h"
#include "common/logs/timestamp.h"
#include "galen/knowledge/v1/knowledge.pb.h"

namespace re2 {
class RE2;
}

namespace galen::logs {

using Patterns = google::protobuf::RepeatedPtrField<knowledge::v1::SignalPattern>;

// A known message that a text holds.
struct Hit {
  // Its place in Scanner::patterns().
  std::size_t pattern = 0;
  std::int64_t count = 0;       // lines that hold it
  std::int64_t first_line = 0;  // 1 and up
  std::string excerpt;          // of the first line, cleaned, at most 512 bytes
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

// Finds all known messages in one pass. Immutable and thread-safe; a LogScan holds what one text
// needs.
class Scanner {
 public:
  // Compiling some 800 patterns takes most of a second; `cache_directory` keeps the result for the
  // next process, "" for nowhere. INVALID_ARGUMENT names the pattern that does not compile.
  static absl::StatusOr<std::unique_ptr<const Scanner>> Create(Patterns patterns,
                                                               const std::string& cache_directory);
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  const Patterns& patterns() const { return patterns_; }
  bool from_cache() const { return common_->from_cache() && spoken_->from_cache(); }

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
  // For a pattern that can match a newline: it, to tell a match within one line from one that
  // reaches over lines. Null for the others.
  std::vector<std::unique_ptr<const re2::RE2>> within_line_;
};

// The scan of one text, fed piece by piece. Memory is constant whatever the size of the text, and
// the result does not depend on how the text is cut into pieces. Lines end in "\n" or "\r\n".
// A match never reaches over lines. Not thread-safe.
class LogScan {
 public:
  struct Options {
    TextKind kind = TextKind::kLog;
    TimeContext time;
    // A line longer than a block is scanned in pieces that overlap by kOverlap; '^' and '$' hold at
    // the ends of a piece too.
    std::size_t block_bytes = 1 << 20;
  };
  static constexpr std::size_t kOverlap = 4096;
  static constexpr std::size_t kExcerptBytes = 512;

  // `scanner` must outlive the scan.
  LogScan(const Scanner& scanner, Options options);

  void Feed(absl::string_view chunk);

  // Ends the text. Called once, last.
  ScanResult Finish();

  // Bytes of the text that are held at this moment.
  std::size_t buffered_bytes() const { return buffer_.size(); }

 private:
  struct Match {
    std::size_t line;  // index into line_starts_
    std::size_t pattern;
    std::size_t end;  // offset in the block
    bool operator<(const Match& other) const;
  };

  void ScanBuffer(bool last);
  void FindLines(absl::string_view block);
  void CollectMatches(absl::string_view block);
  void CollectMatchesOf(const Scanner::Group& group, PatternDatabase::Scratch& scratch,
                        absl::string_view block);
  void MakeMatchesDistinct();
  void Record(absl::string_view block, const Match& match);
  absl::string_view LineAt(absl::string_view block, std::size_t line) const;
  void NoteTime(std::size_t line, absl::string_view text, Hit& hit);
  bool HoldsWithinLine(absl::string_view line, std::size_t end, std::size_t pattern) const;

  const Scanner& scanner_;
  const Options options_;
  PatternDatabase::Scratch common_scratch_;
  PatternDatabase::Scratch spoken_scratch_;  // null for a log
  std::string buffer_;
  std::vector<std::uint32_t> line_starts_;                 // of the block that is being scanned
  std::vector<Match> matches_;                             // of that block
  std::vector<std::pair<std::size_t, std::size_t>> seen_;  // per pattern: range it last matched in
  std::vector<Hit> hits_;                                  // per pattern; count 0: not found
  std::vector<std::int64_t> last_line_;  // per pattern: line looked at last, 0 for none
  std::int64_t line_ = 1;                // number of the block's first line
  bool continued_ = false;               // the block's first line began in an earlier block
  bool in_binary_ = false;               // and has NUL bytes there
  // Time of the line whose index is `timed_line_`, so that it is read once for all patterns.
  std::size_t timed_line_ = 0;
  std::optional<TimeStamp> stamp_;
  ScanResult result_;
};

}  // namespace galen::logs

#endif  // COMMON_LOGS_SCANNER_H_
