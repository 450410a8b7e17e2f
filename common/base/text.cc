#include "common/base/text.h"

#include <cstdint>

namespace galen {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `s`, or 0. Unicode 15, table 3-7.
std::size_t SequenceLength(absl::string_view s) {
  const auto byte = [&](std::size_t i) -> std::uint8_t {
    return i < s.size() ? static_cast<std::uint8_t>(s[i]) : 0;
  };
  const auto tail = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const std::uint8_t b0 = byte(0);
  const std::uint8_t b1 = byte(1);
  if (b0 < 0x80) return 1;
  if (b0 >= 0xC2 && b0 <= 0xDF) return tail(1) ? 2 : 0;
  if (b0 >= 0xE0 && b0 <= 0xEF) {
    if (!tail(1) || !tail(2)) return 0;
    if (b0 == 0xE0 && b1 < 0xA0) return 0;
    if (b0 == 0xED && b1 > 0x9F) return 0;
    return 3;
  }
  if (b0 >= 0xF0 && b0 <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (b0 == 0xF0 && b1 < 0x90) return 0;
    if (b0 == 0xF4 && b1 > 0x8F) return 0;
    return 4;
  }
  return 0;
}

// Length of the ANSI escape sequence at the start of `s` (ECMA-48 CSI, or ESC and one byte), or 0.
std::size_t EscapeLength(absl::string_view s) {
  if (s.empty() || s[0] != '\x1b') return 0;
  if (s.size() < 2) return 1;
  if (s[1] != '[') return 2;
  std::size_t i = 2;
  while (i < s.size() && (s[i] < '\x40' || s[i] > '\x7e')) ++i;
  return i < s.size() ? i + 1 : i;
}

}  // namespace

std::string CleanText(absl::string_view raw, std::size_t max_bytes) {
  constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr absl::string_view kCut = "...";
  std::string out;
  std::size_t fits = 0;  // length of `out` that still leaves room for kCut
  while (!raw.empty()) {
    absl::string_view piece;
    std::size_t used = EscapeLength(raw);
    if (used == 0) {
      used = SequenceLength(raw);
      if (used == 0) {
        piece = kReplacement;
        used = 1;
      } else if (used == 1 && (raw[0] < ' ' || raw[0] == '\x7f') && raw[0] != '\n' &&
                 raw[0] != '\t') {
        piece = " ";
      } else {
        piece = raw.substr(0, used);
      }
    }
    if (out.size() + piece.size() > max_bytes) {
      out.resize(fits);
      if (max_bytes >= kCut.size()) out.append(kCut.data(), kCut.size());
      return out;
    }
    out.append(piece.data(), piece.size());
    if (out.size() + kCut.size() <= max_bytes) fits = out.size();
    raw.remove_prefix(used);
  }
  return out;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const std::size_t n = SequenceLength(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

}  // namespace galen
