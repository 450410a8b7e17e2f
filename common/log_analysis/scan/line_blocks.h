#ifndef COMMON_LOG_ANALYSIS_SCAN_LINE_BLOCKS_H_
#define COMMON_LOG_ANALYSIS_SCAN_LINE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Splits a stream of text, in chunks of any size, into blocks of whole lines, normalized by
// Normalize(). Memory is constant: a line longer than kMostOfLine is cut there. Not thread-safe.
class LineBlocks {
 public:
  static constexpr std::size_t kMostOfLine = std::size_t{1} << 20;

  // `lines`: number of lines of the text in the block. Its last line may lack the newline at the
  // end of the text, or if the line was cut. `block` is valid during the call only.
  using OnBlock = absl::FunctionRef<void(absl::string_view block, std::int64_t lines)>;

  void Feed(absl::string_view chunk, OnBlock on_block);
  // Ends the text. Later chunks belong to the next text.
  void Finish(OnBlock on_block);

 private:
  void Keep(absl::string_view part);
  void Give(absl::string_view block, OnBlock on_block);

  std::string pending_;  // a line without its end so far
  std::string clean_;
};

// The start of the line at `begin` of `block`, or of the closest of some lines before it, that has
// a time stamp; "": none. `lines_back`, if not null: how many lines may be read, and afterwards how
// many are left.
absl::string_view DatedLine(absl::string_view block, std::size_t begin, std::size_t end,
                            int* lines_back = nullptr);

// A traceback is usually not longer.
inline constexpr int kLinesBack = 64;

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_LINE_BLOCKS_H_
