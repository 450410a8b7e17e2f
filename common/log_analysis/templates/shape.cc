#include "common/log_analysis/templates/shape.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "common/log_analysis/templates/characters.h"
#include "common/log_analysis/templates/mask.h"

namespace galen::log_templates {
namespace {

// A hash that is stable across runs and machines of one byte order. The writer of a log can
// construct collisions; their only effect is a wrong group.
std::uint64_t Mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
constexpr std::uint64_t kFirst = 0x9E3779B97F4A7C15;
constexpr std::uint64_t kSecond = 0xD1B54A32D192ED03;

std::uint64_t Load8(const char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, 8);
  return value;
}
std::uint64_t Load4(const char* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  return value;
}

std::uint64_t HashOf(const char* at, std::size_t size) {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t seed = size * kSecond;
  if (size >= 8) {
    const char* const last = at + size - 8;
    for (; size > 16; at += 16, size -= 16) {
      seed = Mix(Load8(at) ^ kFirst ^ seed, Load8(at + 8) ^ kSecond);
    }
    a = size > 8 ? Load8(at) : 0;
    b = Load8(last);
  } else if (size >= 4) {
    a = Load4(at);
    b = Load4(at + size - 4);
  } else {
    for (std::size_t i = 0; i < size; ++i) a = a << 8 | static_cast<std::uint8_t>(at[i]);
  }
  return Mix(a ^ kFirst ^ seed, b ^ kSecond);
}

Token TokenOf(const char* at, std::size_t size, bool masked) {
  return (HashOf(at, size) & ~kMaskBit) | (masked ? kMaskBit : 0);
}

// Whether MaskToken() replaces all of it by one mask: a fast path for a frequent case. `seen`: the
// classes of its characters.
bool IsNumber(const char* begin, const char* end, std::uint8_t seen) {
  if (*begin == '0' && end - begin > 2 && (begin[1] | 0x20) == 'x' &&
      (CharacterOf(begin[2]) & (kDigit | kHexLetter)) != 0) {
    seen = kDigit;
    for (const char* at = begin + 2; at < end; ++at) seen |= CharacterOf(*at);
  }
  return (seen & kDigit) != 0 && (seen & ~(kDigit | kHexLetter | kHexJoint)) == 0 &&
         (CharacterOf(*begin) & kWord) != 0 && (CharacterOf(end[-1]) & kWord) != 0;
}

// "name(" and more: a name of letters, digits and "_", ".", ":".
bool IsCall(absl::string_view token) {
  const std::size_t open = token.find('(');
  return open != absl::string_view::npos && open > 2 &&
         std::all_of(token.begin(), token.begin() + open, [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
                  c == ':';
         });
}

// A token that replaces all further tokens.
constexpr absl::string_view kMore = "...";

// Calls `on_token(begin, end, characters)` for each token of the line.
template <typename OnToken>
bool ForEachToken(absl::string_view line, OnToken on_token) {
  const char* at = line.data();
  const char* const end = at + (line.size() < kMostOfLine ? line.size() : kMostOfLine);
  std::size_t count = 0;
  for (;;) {
    while (at < end && (CharacterOf(*at) & kSpace) != 0) ++at;
    if (at == end) return line.size() > kMostOfLine;
    if (count++ == kMostTokens) return true;
    const char* const begin = at;
    std::uint8_t seen = 0;
    for (; at < end; ++at) {
      const std::uint8_t character = CharacterOf(*at);
      if ((character & kSpace) != 0) break;
      seen |= character;
    }
    on_token(begin, at, seen);
  }
}

}  // namespace

void ShapeOf(absl::string_view line, Shape& shape) {
  std::size_t size = 0;
  std::uint64_t hash = kFirst;
  shape.key = kAnyToken;
  const auto add = [&](Token token) {
    shape.tokens[size++] = token;
    hash = Mix(hash ^ token, kSecond);
    if ((token & kMaskBit) == 0 && shape.key == kAnyToken) shape.key = token;
  };
  const bool more = ForEachToken(line, [&](const char* begin, const char* end, std::uint8_t seen) {
    const auto length = static_cast<std::size_t>(end - begin);
    if ((seen & (kDigit | kSlash)) == 0) {
      add(TokenOf(begin, length, false));
      return;
    }
    if (IsNumber(begin, end, seen)) {
      add(kAnyToken);
      return;
    }
    char masked[kMostMasked];
    const std::size_t written = MaskToken({begin, length}, masked);
    const absl::string_view text(masked, written);
    if (text == kMask) {
      add(kAnyToken);
    } else {
      // The key of a trace of a call, "f(x=0x1f,", is the function's name.
      if (size == 0 && IsCall(text)) shape.key = TokenOf(masked, written, true);
      add(TokenOf(masked, written, text.find(kMask) != absl::string_view::npos));
    }
  });
  if (more) add(TokenOf(kMore.data(), kMore.size(), true));
  shape.size = size;
  shape.hash = Mix(hash, size ^ kFirst);
}

void AppendMasked(absl::string_view line, std::string& text) {
  bool first = true;
  const auto part = [&] {
    if (!first) text += ' ';
    first = false;
  };
  const bool more = ForEachToken(line, [&](const char* begin, const char* end, std::uint8_t seen) {
    part();
    const auto length = static_cast<std::size_t>(end - begin);
    if ((seen & (kDigit | kSlash)) == 0) {
      text.append(begin, length);
      return;
    }
    char masked[kMostMasked];
    text.append(masked, MaskToken({begin, length}, masked));
  });
  if (!more) return;
  part();
  text.append(kMore.data(), kMore.size());
}

}  // namespace galen::log_templates
