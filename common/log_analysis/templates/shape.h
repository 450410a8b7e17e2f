#ifndef COMMON_LOG_ANALYSIS_TEMPLATES_SHAPE_H_
#define COMMON_LOG_ANALYSIS_TEMPLATES_SHAPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace galen::log_templates {

// A token of a masked line, as a hash. Bit 0: it contains a mask.
using Token = std::uint64_t;
// Any token; also the value of a token that is only a mask.
inline constexpr Token kAnyToken = 1;
inline constexpr Token kMaskBit = 1;

// Limits of a line: first bytes, and first tokens of these. A line with more tokens differs from
// one that ends there.
inline constexpr std::size_t kMostOfLine = 4096;
inline constexpr std::size_t kMostTokens = 128;

// The constant parts of a line.
struct Shape {
  std::array<Token, kMostTokens + 1> tokens;
  std::size_t size = 0;
  // The first token without a mask; in the trace of a call ("f(x=0x1f, y=2)") the one with the
  // function's name.
  Token key = kAnyToken;
  std::uint64_t hash = 0;  // of all tokens
};

// Reads each byte of the line's beginning a bounded number of times. Pure.
void ShapeOf(absl::string_view line, Shape& shape);

// Appends the tokens of the line as texts, in the same number and order, separated by one space.
void AppendMasked(absl::string_view line, std::string& text);

}  // namespace galen::log_templates

#endif  // COMMON_LOG_ANALYSIS_TEMPLATES_SHAPE_H_
