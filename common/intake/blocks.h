#ifndef COMMON_INTAKE_BLOCKS_H_
#define COMMON_INTAKE_BLOCKS_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::intake {

// Lines `first` to `end`, without `end`; counted from 0.
struct LineRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

// A part of a text as its layout tells.
struct Block {
  // kBare: among what a person wrote. kFenced, kIndented: set apart as Markdown does (CommonMark
  // 0.31, 4.4 and 4.5). kFile: all of a file.
  enum class Kind { kBare, kFenced, kIndented, kFile };
  LineRange lines;  // without the fences
  Kind kind = Kind::kBare;
  std::size_t indent = 0;  // blanks that all lines of the block begin with
  bool code = false;       // the fence names a language in which no program prints
};

// Text between backticks within a paragraph (CommonMark 0.31, 6.1): from byte `first_byte` of line
// `first_line` up to byte `end_byte` of line `last_line`, without the backticks.
struct CodeSpan {
  std::size_t first_line = 0;
  std::size_t first_byte = 0;
  std::size_t last_line = 0;
  std::size_t end_byte = 0;
  std::size_t ticks = 1;  // backticks on either side
};

// The spans of `range` in order. A run of backticks that nothing closes before the next blank line
// opens none. Pure.
std::vector<CodeSpan> CodeSpans(absl::Span<const absl::string_view> lines, LineRange range);

// A fence opens on some line and closes on a later one.
bool HasFence(absl::Span<const absl::string_view> lines);

// The blocks of a text in order; fence lines are in none of them. A fence that nothing closes
// reaches to the end. Pure.
std::vector<Block> CutBlocks(absl::Span<const absl::string_view> lines);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_BLOCKS_H_
