#ifndef COMMON_LOG_ANALYSIS_SCAN_LINE_BLOCKS_H_
#define COMMON_LOG_ANALYSIS_SCAN_LINE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace galen::log_scan {

// Takes a stream of text, cut in any way, apart into blocks of whole lines, made fit for matching
// as Normalize() does. Memory is constant: of a line longer than kMostOfLine its beginning is what
// there is of it. Not thread-safe.
class LineBlocks {
 public:
  static constexpr std::size_t kMostOfLine = std::size_t{1} << 20;

  // `lines`: of the text, that the block holds. Its last line may lack its newline at the end of
  // the text, and where the line was cut. Good during the call only.
  using OnBlock = absl::FunctionRef<void(absl::string_view block, std::int64_t lines)>;

  void Feed(absl::string_view chunk, OnBlock on_block);
  // Ends the text. What is fed afterwards is another one.
  void Finish(OnBlock on_block);

 private:
  void Keep(absl::string_view part);
  void Give(absl::string_view block, OnBlock on_block);

  std::string pending_;  // a line of which the end has not come yet
  std::string clean_;
};

// The beginning of the line at `begin` of `block`, or of the closest of some before it, that
// carries a time; "" where there is none. `lines_back`, where it is given: how many lines may be
// looked at, and afterwards how many are left.
absl::string_view DatedLine(absl::string_view block, std::size_t begin, std::size_t end,
                            int* lines_back = nullptr);

// A traceback is not longer as a rule.
inline constexpr int kLinesBack = 64;

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_LINE_BLOCKS_H_
