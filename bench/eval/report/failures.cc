#include "bench/eval/report/failures.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace galen::eval {
namespace {

using cli::Colour;

// Reasons of one kind that are shown of a verdict.
constexpr int kMostReasons = 6;

const v1::JudgedHypothesis* FindJudged(const v1::CaseResult& result, absl::string_view label) {
  for (const v1::JudgedHypothesis& judged : result.judged()) {
    if (judged.label() == label) return &judged;
  }
  return nullptr;
}

void TellReasons(const google::protobuf::RepeatedPtrField<std::string>& reasons, const char* mark,
                 const cli::Terminal& terminal, std::string& out) {
  for (int i = 0; i < reasons.size() && i < kMostReasons; ++i) {
    absl::StrAppend(
        &out, "        ", mark, " ",
        cli::Shorten(reasons[i], static_cast<std::size_t>(std::max(terminal.width - 10, 40))),
        "\n");
  }
  if (reasons.size() > kMostReasons) {
    absl::StrAppend(&out, "        ", mark, " and ", reasons.size() - kMostReasons, " more\n");
  }
}

void TellLabel(const char* heading, absl::string_view label, const v1::CaseResult& result,
               const cli::Terminal& terminal, std::string& out) {
  const v1::JudgedHypothesis* judged = FindJudged(result, label);
  absl::StrAppend(&out, "    ", heading, " ", label, ": ");
  if (judged == nullptr) {
    absl::StrAppend(&out, "never judged\n");
    return;
  }
  absl::StrAppend(&out, absl::AsciiStrToLower(judged->status()), ", from ",
                  absl::AsciiStrToLower(judged->origin()),
                  absl::StrFormat(", probability %.2f\n", judged->probability()));
  TellReasons(judged->supports(), "+", terminal, out);
  TellReasons(judged->opposes(), "-", terminal, out);
  TellReasons(judged->missing(), "?", terminal, out);
}

}  // namespace

std::string TellFailure(const v1::Case& a_case, const v1::CaseResult& result,
                        const CaseScore& score, const cli::Terminal& terminal) {
  std::string named = result.has_primary() ? result.primary().label() : "nothing confirmed";
  for (const v1::NamedCause& other : result.others()) absl::StrAppend(&named, " + ", other.label());
  std::string out = absl::StrCat(
      cli::Paint(terminal, Colour::kBold, a_case.id()), "  ",
      cli::Paint(terminal, score.verdict == Verdict::kAbstained ? Colour::kYellow : Colour::kRed,
                 score.verdict == Verdict::kAbstained ? "abstained" : "wrong"),
      a_case.misleading() ? "  (misleading)" : "", a_case.title().empty() ? "" : "  ",
      a_case.title(), "\n");
  absl::StrAppend(
      &out, "    expected ",
      a_case.labels().empty() ? "nothing to find" : absl::StrJoin(a_case.labels(), " + "),
      "\n    got      ", named, "\n");
  if (!result.error().empty()) absl::StrAppend(&out, "    error    ", result.error(), "\n");
  for (const std::string& label : score.missed) {
    TellLabel("expected", label, result, terminal, out);
  }
  for (const std::string& label : score.wrong) TellLabel("got", label, result, terminal, out);
  return out;
}

}  // namespace galen::eval
