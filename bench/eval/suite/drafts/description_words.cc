#include "bench/eval/suite/drafts/description_words.h"

#include <re2/re2.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace galen::drafts {
namespace {

using knowledge::v1::Rule;

// Groups: a number in digits or as a word, and its unit.
constexpr char kNumber[] =
    R"((-?[0-9][0-9,]*(?:\.[0-9]+)?|zero|none|one|two|three|four|eight|sixteen))"
    R"(\s*(kib|kb|mib|mb|gib|gb|tib|tb|k\b|%|percent|degrees|celsius|c\b|w\b|watts?|mhz|ms\b|s\b|seconds?)?)";
constexpr char kQuoted[] = R"(["'`]([^"'`\n]{1,80})["'`])";
// A comparison is not part of a word or of another comparison.
constexpr char kAlone[] = "(?:^|[^a-z<>=!])";
// The text that may separate a comparison from its value.
constexpr char kBeforeNumber[] = R"(\s*(?:the value |a value of |around )?)";
constexpr char kBeforeQuoted[] = R"(\s*(?:the word |set to )?)";
// A value is not followed by the rest of a version or number.
constexpr char kNumberEnds[] = R"((?:[^0-9a-z.]|\.\s|\.?$))";
// Up to the quoted text within its sentence, that text, and what follows in the sentence.
constexpr char kQuotedInSentence[] = R"([^"'`\n.]{0,30}["'`][^"'`\n]{1,120}["'`])";

// Compiles patterns until one fails, because a list is too large.
class Compiler {
 public:
  DescriptionWords::Pattern Compile(const std::string& pattern) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(16 << 20);
    auto compiled = std::make_shared<const RE2>(pattern, options);
    if (!compiled->ok() && status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("talk/*.yaml: lists of conditions are too large: ", compiled->error(),
                       "; write fewer phrases"));
    }
    return compiled;
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

std::string GroupOf(const phrases::Phrases& phrases) {
  return absl::StrCat("(", phrases.expression(), ")");
}

}  // namespace

absl::StatusOr<DescriptionWords> DescriptionWords::From(const phrases::Vocabulary& vocabulary) {
  phrases::Phrases at_least, at_most, more_than, less_than, not_equal, equal;
  phrases::Phrases plain_at_least, plain_at_most, or_more, or_less, sound, faulty, presence;
  phrases::Phrases column, counted_in;
  DescriptionWords words;
  words.ordinals.resize(6);
  GALEN_RETURN_IF_ERROR(vocabulary.Fill({
      {"at_least", &at_least},
      {"at_most", &at_most},
      {"more_than", &more_than},
      {"less_than", &less_than},
      {"not_equal", &not_equal},
      {"equal", &equal},
      {"plain_at_least", &plain_at_least},
      {"plain_at_most", &plain_at_most},
      {"or_more", &or_more},
      {"or_less", &or_less},
      {"sound", &sound},
      {"faulty", &faulty},
      {"presence", &presence},
      {"column", &column},
      {"counted_in", &counted_in},
      {"turned_round", &words.turned_round},
      {"absent", &words.absent},
      {"run_before", &words.run_before},
      {"section_before", &words.section_before},
      {"bracketed", &words.bracketed},
      {"in_job", &words.in_job},
      {"common_word", &words.common_word},
      {"first", &words.ordinals[0]},
      {"second", &words.ordinals[1]},
      {"third", &words.ordinals[2]},
      {"fourth", &words.ordinals[3]},
      {"fifth", &words.ordinals[4]},
      {"sixth", &words.ordinals[5]},
      {"last", &words.last},
  }));
  Compiler compiler;
  for (const auto& [op, phrases] :
       {std::pair<Rule::Op, const phrases::Phrases*>{Rule::GE, &at_least},
        {Rule::LE, &at_most},
        {Rule::GT, &more_than},
        {Rule::LT, &less_than},
        {Rule::NE, &not_equal},
        {Rule::EQ, &equal}}) {
    Comparison comparison;
    comparison.op = op;
    comparison.number = compiler.Compile(
        absl::StrCat(kAlone, GroupOf(*phrases), kBeforeNumber, kNumber, kNumberEnds));
    if (op == Rule::EQ || op == Rule::NE) {
      comparison.quoted =
          compiler.Compile(absl::StrCat(kAlone, GroupOf(*phrases), kBeforeQuoted, kQuoted));
    }
    words.comparisons.push_back(std::move(comparison));
  }
  words.plain_bound = compiler.Compile(absl::StrCat("(?:", GroupOf(plain_at_least), "|",
                                                    GroupOf(plain_at_most), R"()\s+)", kNumber));
  words.or_more = compiler.Compile(
      absl::StrCat(R"(\b)", kNumber, " (?:", GroupOf(or_more), "|", GroupOf(or_less), ")"));
  words.presence =
      compiler.Compile(absl::StrCat(GroupOf(presence), kQuotedInSentence, R"(([^.\n]{0,80}))"));
  words.last_sound = compiler.Compile(absl::StrCat(".*", GroupOf(sound)));
  words.last_faulty = compiler.Compile(absl::StrCat(".*", GroupOf(faulty)));
  std::string any = words.last.expression();
  for (const phrases::Phrases& each : words.ordinals) absl::StrAppend(&any, "|", each.expression());
  words.column = compiler.Compile(absl::StrCat("(", any, ") ", column.expression()));
  words.counted_in =
      compiler.Compile(absl::StrCat(counted_in.expression(), R"(\s+(kib|kb|mib|mb|gib|gb)\b)"));
  GALEN_RETURN_IF_ERROR(compiler.status());
  return words;
}

}  // namespace galen::drafts
