#include "common/log_analysis/scan/line_text.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/text.h"

namespace galen::log_scan {
namespace {

constexpr char kEscapeByte = '\x1b';

bool Contains(const char* block, std::size_t size, char c) {
  return std::memchr(block, c, size) != nullptr;
}

// End of the run of NUL bytes that starts at `p`; the hole of a truncated log is gigabytes of them.
const char* SkipNuls(const char* p, const char* end) {
  std::uint64_t word = 0;
  while (end - p >= static_cast<std::ptrdiff_t>(sizeof(word))) {
    std::memcpy(&word, p, sizeof(word));
    if (word != 0) break;
    p += sizeof(word);
  }
  while (p != end && *p == '\0') ++p;
  return p;
}

// Finds the next occurrence of a byte with as few searches as possible.
class Next {
 public:
  Next(char byte, const char* end) : byte_(byte), end_(end) {}

  // At or after `from`, which never goes back; the end when there is none.
  const char* From(const char* from) {
    if (at_ != nullptr && at_ >= from) return at_;
    const void* const found = std::memchr(from, byte_, static_cast<std::size_t>(end_ - from));
    at_ = found != nullptr ? static_cast<const char*>(found) : end_;
    return at_;
  }

 private:
  const char byte_;
  const char* const end_;
  const char* at_ = nullptr;
};

// End of the escape sequence that starts at `p` (ECMA-48: CSI, OSC, or ESC and one byte). It never
// extends beyond the line, even if it is incomplete.
const char* SkipEscape(const char* p, const char* end) {
  ++p;
  if (p == end || *p == '\n') return p;
  if (*p == '[') {
    ++p;
    while (p != end && *p >= '\x20' && *p <= '\x3f') ++p;
    return p != end && *p >= '\x40' && *p <= '\x7e' ? p + 1 : p;
  }
  if (*p == ']') {
    while (p != end && *p != '\n' && *p != '\a' && *p != kEscapeByte) ++p;
    if (p != end && *p == '\a') return p + 1;
    if (p != end && *p == kEscapeByte) return p + 1 != end && p[1] == '\\' ? p + 2 : p + 1;
    return p;
  }
  return p + 1;
}

}  // namespace

Normalized Normalize(char* block, std::size_t size, bool last, bool in_binary) {
  Normalized result;
  result.ends_in_binary = in_binary;
  if (!in_binary && !Contains(block, size, kEscapeByte) && !Contains(block, size, '\r') &&
      !Contains(block, size, '\0')) {
    result.size = size;
    return result;
  }
  const char* const end = block + size;
  const char* from = block;
  char* to = block;
  Next escape(kEscapeByte, end), carriage('\r', end), nul('\0', end), newline('\n', end);
  while (from != end) {
    const char* const stop = std::min({escape.From(from), carriage.From(from), nul.From(from),
                                       result.ends_in_binary ? newline.From(from) : end});
    std::memmove(to, from, static_cast<std::size_t>(stop - from));
    to += stop - from;
    from = stop;
    if (from == end) break;
    const char c = *from;
    if (c == '\n') {
      ++result.binary_lines;
      result.ends_in_binary = false;
      *to++ = *from++;
    } else if (c == '\0') {
      result.ends_in_binary = true;
      from = SkipNuls(from, end);
    } else if (c == kEscapeByte) {
      from = SkipEscape(from, end);
    } else if (from + 1 == end ? last : from[1] == '\n') {
      ++from;
    } else {
      *to++ = *from++;
    }
  }
  result.size = static_cast<std::size_t>(to - block);
  return result;
}

bool IsBinary(absl::string_view line) {
  constexpr std::size_t kLooked = 1024;
  line = line.substr(0, kLooked);
  // Fast path: nearly every line is plain ASCII.
  bool plain = true;
  for (const char c : line) plain &= c >= ' ' && c != '\x7f';
  if (plain) return false;
  std::size_t strange = 0;
  for (std::size_t i = 0; i < line.size();) {
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte < 0x80) {
      strange += absl::ascii_iscntrl(byte) && byte != '\t' && byte != '\r' ? 1 : 0;
      ++i;
      continue;
    }
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    // The cut at kLooked may split a character; a split character does not count as invalid.
    const bool whole = i + length <= line.size();
    if (!whole || IsUtf8(line.substr(i, length))) {
      i += length;
    } else {
      ++strange;
      ++i;
    }
  }
  return strange * 3 > line.size();
}

std::string Excerpt(absl::string_view line, std::size_t match_end, std::size_t max_bytes) {
  constexpr absl::string_view kCut = "...";
  constexpr std::size_t kBehind = 128;
  if (line.size() <= max_bytes || match_end + kBehind <= max_bytes || max_bytes <= kBehind) {
    return CleanText(line, max_bytes);
  }
  std::size_t begin = std::min(match_end, line.size()) + kBehind - max_bytes + kCut.size();
  // Not inside a UTF-8 character.
  while (begin < line.size() && (static_cast<unsigned char>(line[begin]) & 0xC0) == 0x80) ++begin;
  return absl::StrCat(kCut, CleanText(line.substr(begin), max_bytes - kCut.size()));
}

}  // namespace galen::log_scan
