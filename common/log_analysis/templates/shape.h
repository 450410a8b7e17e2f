#ifndef COMMON_LOG_ANALYSIS_TEMPLATES_SHAPE_H_
#define COMMON_LOG_ANALYSIS_TEMPLATES_SHAPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::log_templates {

// A token of a masked line: a number that tells it from others. Bit 0 says that it holds a mask.
using Token = std::uint64_t;
// Stands for any token; a token that is nothing but a mask is it.
inline constexpr Token kAnyToken = 1;
inline constexpr Token kMaskBit = 1;

// Of a line, what is looked at: its first bytes, and of these the first tokens. A line that has
// more tokens is told from one that ends there.
inline constexpr std::size_t kMostOfLine = 4096;
inline constexpr std::size_t kMostTokens = 128;

// A line by what does not change in it.
struct Shape {
  std::array<Token, kMostTokens + 1> tokens;
  std::size_t size = 0;
  // The first token without a mask; of the trace of a call ("f(x=0x1f, y=2)") the one with its
  // name.
  Token key = kAnyToken;
  std::uint64_t hash = 0;  // of all tokens
};

// Reads each byte of the line's beginning a bounded number of times. Pure.
void ShapeOf(absl::string_view line, Shape& shape);

// The tokens of the same line as texts, as many and in the same order, parted by one space.
void AppendMasked(absl::string_view line, std::string& text);

}  // namespace galen::log_templates

#endif  // COMMON_LOG_ANALYSIS_TEMPLATES_SHAPE_H_
