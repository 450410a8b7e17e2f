#ifndef COMMON_LOG_ANALYSIS_TEMPLATES_CHARACTERS_H_
#define COMMON_LOG_ANALYSIS_TEMPLATES_CHARACTERS_H_

#include <array>
#include <cstdint>

namespace galen::log_templates {

// Classes of a byte of a log, as bits; a byte can be in several.
enum Character : std::uint8_t {
  kDigit = 1,
  kHexLetter = 2,
  kOtherLetter = 4,  // also bytes of characters beyond ASCII
  kSpace = 8,        // also control characters
  kSlash = 16,
  kHexJoint = 32,    // between groups of hexadecimal digits: ":", "-", "."
  kOtherJoint = 64,  // between two masks: "," and some more
  kOther = 128,
};
inline constexpr std::uint8_t kLetter = kHexLetter | kOtherLetter;
inline constexpr std::uint8_t kWord = kDigit | kLetter;
inline constexpr std::uint8_t kJoint = kHexJoint | kOtherJoint | kSlash;

inline constexpr std::array<std::uint8_t, 256> kCharacters = [] {
  std::array<std::uint8_t, 256> table{};
  for (int c = 0; c < 256; ++c) {
    const bool digit = c >= '0' && c <= '9';
    const int lower = c | 0x20;
    const bool letter = lower >= 'a' && lower <= 'z' && c < 128;
    std::uint8_t& entry = table[static_cast<std::size_t>(c)];
    if (digit) entry |= kDigit;
    if (letter) entry |= lower <= 'f' ? kHexLetter : kOtherLetter;
    if (c >= 128) entry |= kOtherLetter;
    if (c <= ' ' || c == 127) entry |= kSpace;
    if (c == '/') entry |= kSlash;
    if (c == ':' || c == '-' || c == '.') entry |= kHexJoint;
    if (c == ',' || c == '_' || c == '+' || c == '%' || c == '~') entry |= kOtherJoint;
    if (entry == 0) entry = kOther;
  }
  return table;
}();

inline std::uint8_t CharacterOf(char c) { return kCharacters[static_cast<std::uint8_t>(c)]; }

}  // namespace galen::log_templates

#endif  // COMMON_LOG_ANALYSIS_TEMPLATES_CHARACTERS_H_
