#ifndef BENCH_EVAL_SUITE_TALK_TEXT_H_
#define BENCH_EVAL_SUITE_TALK_TEXT_H_

#include <re2/re2.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"
#include "common/base/re2_piece.h"

namespace galen::talk {

// Texts of people are arbitrary bytes, and the patterns must match any of them.
inline RE2::Options Bytes() { return RE2::Options(RE2::Latin1); }

inline absl::string_view View(const re2::StringPiece& text) { return {text.data(), text.size()}; }

inline bool Has(absl::string_view text, const RE2& pattern) {
  return RE2::PartialMatch(Piece(text), pattern);
}

// The reach of the words around an address or a port.
inline constexpr std::size_t kReach = 70;

// The words before `begin`, from `from` on at the earliest.
inline absl::string_view Before(absl::string_view lower, std::size_t begin, std::size_t from = 0) {
  const std::size_t start = std::max(from, begin > kReach ? begin - kReach : 0);
  return lower.substr(start, begin - start);
}
// The words behind `end`, up to `to` at the latest.
inline absl::string_view After(absl::string_view lower, std::size_t end,
                               std::size_t to = absl::string_view::npos) {
  return lower.substr(end, std::min(std::min(to, lower.size()) - end, kReach));
}

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_TEXT_H_
