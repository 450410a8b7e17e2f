#include "common/intake/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/intake/line.h"
#include "common/log_analysis/scan/line_text.h"

namespace galen::intake {
namespace {

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

std::uint32_t UnitAt(absl::string_view text, std::size_t at, bool big) {
  const auto first = static_cast<unsigned char>(text[at]);
  const auto second = static_cast<unsigned char>(text[at + 1]);
  return big ? static_cast<std::uint32_t>(first << 8 | second)
             : static_cast<std::uint32_t>(second << 8 | first);
}

std::string FromUtf16(absl::string_view text, bool big) {
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    std::uint32_t code = UnitAt(text, i, big);
    if (code >= 0xD800 && code < 0xDC00 && i + 3 < text.size()) {
      const std::uint32_t low = UnitAt(text, i + 2, big);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 2;
      }
    }
    AppendUtf8(code >= 0xD800 && code < 0xE000 ? 0xFFFD : code, out);
  }
  return out;
}

// In UTF-16 of mostly ASCII text one byte of each pair is NUL. PowerShell writes it when a
// program's output is redirected.
bool LooksLikeUtf16(absl::string_view text, bool big) {
  const std::size_t looked = std::min<std::size_t>(text.size() & ~std::size_t{1}, 4096);
  if (looked < 16) return false;
  std::size_t nul = 0;
  std::size_t other = 0;
  for (std::size_t i = 0; i < looked; ++i) {
    if (text[i] != '\0') continue;
    ++((i % 2 == 0) == big ? nul : other);
  }
  return other * 8 < nul && nul * 10 > looked / 2 * 7;
}

std::string Decoded(absl::string_view text) {
  if (absl::StartsWith(text, "\xEF\xBB\xBF")) return std::string(text.substr(3));
  if (absl::StartsWith(text, "\xFF\xFE")) return FromUtf16(text.substr(2), false);
  if (absl::StartsWith(text, "\xFE\xFF")) return FromUtf16(text.substr(2), true);
  if (LooksLikeUtf16(text, false)) return FromUtf16(text, false);
  if (LooksLikeUtf16(text, true)) return FromUtf16(text, true);
  return std::string(text);
}

// A progress bar writes its line over and over. The earlier pieces may be the informative ones, so
// all are kept, separated by blanks.
void PartOverwritten(std::string& text) { std::replace(text.begin(), text.end(), '\r', ' '); }

// "&#39;" and "&#x27;": the signs of ASCII by their number, but for '&', with which other entities
// begin.
void ResolveNumbers(std::string& text) {
  constexpr std::size_t kLongest = 6;  // "&#x27;"
  std::string resolved;
  absl::string_view rest = text;
  for (std::size_t at = rest.find("&#"); at != absl::string_view::npos; at = rest.find("&#")) {
    resolved.append(rest.data(), at);
    rest.remove_prefix(at);
    const std::size_t end = rest.substr(0, kLongest).find(';');
    absl::string_view number =
        end == absl::string_view::npos ? absl::string_view() : rest.substr(2, end - 2);
    const bool hex = absl::ConsumePrefix(&number, "x") || absl::ConsumePrefix(&number, "X");
    int code = 0;
    const bool is_number =
        hex ? absl::SimpleHexAtoi(number, &code) : absl::SimpleAtoi(number, &code);
    if (is_number && code >= ' ' && code <= '~' && code != '&') {
      resolved.push_back(static_cast<char>(code));
      rest.remove_prefix(end + 1);
    } else {
      resolved.append(rest.data(), 2);
      rest.remove_prefix(2);
    }
  }
  resolved.append(rest.data(), rest.size());
  text = std::move(resolved);
}

void ResolveEntities(std::string& text) {
  static constexpr std::array<absl::string_view, 6> kSigns = {"&lt;",   "&gt;", "&amp;",
                                                              "&quot;", "&#",   "&nbsp;"};
  const bool any = std::any_of(kSigns.begin(), kSigns.end(), [&](absl::string_view sign) {
    return absl::StrContains(text, sign);
  });
  if (!any) return;
  if (absl::StrContains(text, "&#")) ResolveNumbers(text);
  text = absl::StrReplaceAll(text, {{"&lt;", "<"},
                                    {"&gt;", ">"},
                                    {"&quot;", "\""},
                                    {"&apos;", "'"},
                                    {"&nbsp;", " "},
                                    {"&#38;", "&"},
                                    {"&amp;", "&"}});
}

}  // namespace

std::string Plain(absl::string_view given) {
  std::string text = Decoded(given);
  text.resize(log_scan::Normalize(text.data(), text.size(), true, false).size);
  PartOverwritten(text);
  if (absl::StrContains(text, "\xC2\xA0") || absl::StrContains(text, "\xE2\x80") ||
      absl::StrContains(text, "\xEF\xBB\xBF")) {
    // U+00A0, the zero width space and joiners that web pages put in, and the mark of UTF-8 between
    // files that were put together.
    text = absl::StrReplaceAll(text, {{"\xC2\xA0", " "},
                                      {"\xE2\x80\xAF", " "},
                                      {"\xE2\x80\x8B", ""},
                                      {"\xEF\xBB\xBF", ""},
                                      {"\xE2\x80\x8C", ""},
                                      {"\xE2\x80\x8D", ""}});
  }
  // Those of an XML document are its own.
  if (!absl::StartsWith(text, "<?xml")) ResolveEntities(text);
  return text;
}

std::string PlainOutput(absl::string_view given) {
  if (IsData(given)) return std::string(given);
  std::string text = Plain(given);
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const bool quoted = std::all_of(lines.begin(), lines.end(), [](absl::string_view line) {
    return IsBlank(line) || Unquoted(line).size() < line.size();
  });
  if (!quoted) return text;
  return absl::StrJoin(lines, "\n", [](std::string* out, absl::string_view line) {
    absl::StrAppend(out, Unquoted(line));
  });
}

bool IsData(absl::string_view text) {
  constexpr std::size_t kLooked = 64 << 10;
  if (absl::StartsWith(text, "\xFF\xFE") || absl::StartsWith(text, "\xFE\xFF") ||
      LooksLikeUtf16(text, false) || LooksLikeUtf16(text, true)) {
    return false;
  }
  text = text.substr(0, kLooked);
  std::size_t lines = 0;
  std::size_t data = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ++lines;
    data += log_scan::IsBinary(text.substr(0, end)) ? 1 : 0;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return data * 2 > lines;
}

}  // namespace galen::intake
