#include "common/phrases/phrases.h"

#include <re2/re2.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace galen::phrases {
namespace {

// Memory limit of one compiled list. The largest list of Galen takes a tenth.
constexpr int kMostMemory = 8 << 20;

// One of the marks, or a space. A character of several bytes is all of them.
std::string AnyMark(absl::string_view marks) {
  if (marks.empty()) return R"(\W)";
  std::string any = R"(\s)";
  for (std::size_t i = 0; i < marks.size();) {
    std::size_t end = i + 1;
    while (end < marks.size() && (static_cast<unsigned char>(marks[end]) & 0xC0) == 0x80) ++end;
    absl::StrAppend(&any, "|", RE2::QuoteMeta(re2::StringPiece(marks.data() + i, end - i)));
    i = end;
  }
  return any;
}

std::string Placed(const std::string& phrases, Place place, absl::string_view marks,
                   const std::string& filler) {
  const std::string between =
      absl::StrCat("(?:", AnyMark(marks), filler.empty() ? "" : "|", filler, ")*");
  switch (place) {
    case Place::kAnywhere:
      return phrases;
    case Place::kStart:
      return absl::StrCat(R"(\A)", between, phrases);
    case Place::kEnd:
      return absl::StrCat(phrases, between, R"(\z)");
    case Place::kWhole:
      return absl::StrCat(R"(\A)", between, phrases, between, R"(\z)");
    case Place::kOnly:
      return absl::StrCat(R"(\A(?:)", AnyMark(marks), "|", phrases, R"()*\z)");
    case Place::kClause:
      return absl::StrCat(R"((?:\A\W*|[,;:(-] ?)", filler.empty() ? "" : "|",
                          filler.empty() ? "" : absl::StrCat(filler, " "), ")", phrases);
  }
  return phrases;
}

}  // namespace

absl::StatusOr<Phrases> Phrases::Compile(const std::string& phrases, Place place,
                                         absl::string_view marks, const std::string& filler) {
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  options.set_longest_match(true);
  options.set_never_capture(true);
  options.set_max_mem(kMostMemory);
  auto compiled = std::make_shared<const RE2>(Placed(phrases, place, marks, filler), options);
  if (!compiled->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("is too large: ", compiled->error(), "; write fewer phrases"));
  }
  Phrases list;
  list.expression_ = phrases;
  list.compiled_ = std::move(compiled);
  return list;
}

bool Phrases::In(absl::string_view text) const {
  return compiled_ != nullptr &&
         RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

std::optional<Span> Phrases::Find(absl::string_view text, std::size_t from) const {
  re2::StringPiece found;
  if (compiled_ == nullptr || from > text.size() ||
      !compiled_->Match(re2::StringPiece(text.data(), text.size()), from, text.size(),
                        RE2::UNANCHORED, &found, 1)) {
    return std::nullopt;
  }
  const std::size_t begin = found.data() - text.data();
  return Span{begin, begin + found.size()};
}

}  // namespace galen::phrases
