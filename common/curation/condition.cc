#include "common/curation/condition.h"

#include <re2/re2.h>

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace galen::curation {
namespace {

using knowledge::v1::Rule;

// Before a comparison, how far back a cue may stand.
constexpr std::size_t kCueReach = 120;

struct Comparison {
  Rule::Op op;
  const char* words;
};

// The value stands behind the words, but for "8 or more".
constexpr std::array<Comparison, 6> kComparisons = {{
    {Rule::GE,
     R"(at least|no less than|no fewer than|not? (?:be |fall |drop |go |is |are )?(?:below|under|less than|fewer than|lower than)|>=|a minimum of|minimum is|min(?:imum)? of)"},
    {Rule::LE,
     R"(at most|no more than|no higher than|no greater than|not? (?:be |rise |go |is |are )?(?:above|over|more than|greater than|higher than|exceed(?:s|ed|ing)?)|<=|a maximum of|maximum is|up to)"},
    {Rule::GT,
     R"(more than|above|greater than|higher than|larger than|exceed(?:s|ed|ing)?|over|beyond|past|>)"},
    {Rule::LT, R"(less than|below|fewer than|lower than|smaller than|under|short of|<)"},
    {Rule::NE,
     R"(anything (?:but|other than|else than)|other than|not? (?:be |equal(?: to)? |is |are |read |say |show )?(?:equal to )?|differs? from|different from|never (?:be )?|!=|non-?)"},
    {Rule::EQ,
     R"(exactly|equals?(?: to)?|has to (?:be|read|say|show|stand at)|have to be|must (?:be|read|say|show|stand at|stay)|should (?:be|read|say|show|stand at)|ought to be|needs? to be|is(?: set to)?|are|be|reads?|says?|shows?|stays?|set to|becomes|==?)"},
}};

constexpr char kNumber[] =
    R"((-?[0-9][0-9,]*(?:\.[0-9]+)?|zero|none|one|two|three|four|eight|sixteen)\s*(kib|kb|mib|mb|gib|gb|tib|tb|k\b|%|percent|degrees|celsius|c\b|w\b|watts?|mhz|ms\b|s\b|seconds?)?)";
constexpr char kWord[] = R"(["'`]([^"'`\n]{1,80})["'`])";

std::string Plain(std::string number) {
  static constexpr std::array<std::pair<absl::string_view, absl::string_view>, 7> kWords = {
      {{"zero", "0"},
       {"none", "0"},
       {"one", "1"},
       {"two", "2"},
       {"four", "4"},
       {"eight", "8"},
       {"sixteen", "16"}}};
  for (const auto& [word, digits] : kWords) {
    if (number == word) return std::string(digits);
  }
  if (number == "three") return "3";
  return absl::StrReplaceAll(number, {{",", ""}});
}

// Whether what is said holds on a sound machine. The cue nearest before the comparison decides;
// what follows does where none stands before.
bool SpeaksOfSound(absl::string_view before, absl::string_view after) {
  static const RE2* const kSound = new RE2(
      R"(.*\b(must|should|has to|have to|ought|needs? to|expects?|expected|healthy|fine|good|okay|ok|pass(?:es)?|green|allowed|acceptable|normal|enough|sound|want|require[sd]?|supposed|correct|make sure|ensure|verify|confirm)\b)");
  static const RE2* const kFault = new RE2(
      R"(.*\b(fault|faulty|bad|wrong|broken|alarm|fails?|report|complain|flag|abnormal|sick|problem|unhealthy|warn|trouble|raise|shout|alert|suspect|tell me|page me|defective|unacceptable|not (?:ok|okay|fine|acceptable|healthy|good|normal))\b)");
  const auto last = [&](const RE2* pattern, absl::string_view text) {
    re2::StringPiece cue;
    return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *pattern, &cue)
               ? static_cast<std::ptrdiff_t>(cue.data() - text.data())
               : std::ptrdiff_t{-1};
  };
  const std::ptrdiff_t sound = last(kSound, before);
  const std::ptrdiff_t fault = last(kFault, before);
  if (sound >= 0 || fault >= 0) return sound > fault;
  const std::ptrdiff_t later_fault = last(kFault, after);
  return later_fault < 0;
}

std::optional<Condition> Presence(const std::string& text) {
  static const RE2* const kPresence = new RE2(
      R"re(((?:(?:must|should|may|does|do|has|have|is|are)? ?(?:not|never|n't) (?:be |to )?|no |without |lacks?)?\s?(?:a |any |the )?(?:line |lines |word |text |entry |option |flag |module )?(?:that )?(?:contains?|containing|holds?|mentions?|mentioned|lists?|listed|has|have|appears?|present|there|stands? there|includes?|carries|lacks|lists|line|module|option|flag)\b[^"'`\n.]{0,30})["'`][^"'`\n]{1,120}["'`]([^.\n]{0,80}))re");
  re2::StringPiece words;
  re2::StringPiece after;
  if (!RE2::PartialMatch(text, *kPresence, &words, &after)) return std::nullopt;
  Condition condition;
  condition.presence = true;
  condition.at = words.data() - text.data();
  condition.end = after.data() - text.data();
  const std::string all(words.data(),
                        words.size() + (after.data() + after.size() - words.data() - words.size()));
  static const RE2* const kAbsent =
      new RE2(R"(\b(?:not|never|no|lacks?|missing|absent|without|gone|isn't|doesn't|nowhere)\b)");
  const absl::string_view before = absl::string_view(text).substr(
      condition.at > kCueReach ? condition.at - kCueReach : 0, std::min(condition.at, kCueReach));
  const absl::string_view behind(after.data(), after.size());
  const bool absent = RE2::PartialMatch(all, *kAbsent);
  const bool sound = SpeaksOfSound(
      absl::StrCat(before, " ", absl::string_view(words.data(), words.size())), behind);
  // A sound machine has it, or a faulty one lacks it: a fault when it is not there.
  condition.fault = sound != absent ? Rule::NE : Rule::EQ;
  return condition;
}

}  // namespace

Rule::Op Opposite(Rule::Op op) {
  switch (op) {
    case Rule::GE:
      return Rule::LT;
    case Rule::LE:
      return Rule::GT;
    case Rule::GT:
      return Rule::LE;
    case Rule::LT:
      return Rule::GE;
    case Rule::EQ:
      return Rule::NE;
    case Rule::NE:
      return Rule::EQ;
    default:
      return op;
  }
}

std::optional<Condition> ReadCondition(absl::string_view description, bool negations) {
  const std::string lower = absl::AsciiStrToLower(description);
  std::optional<Condition> best;
  const auto consider = [&](const re2::StringPiece& words, Rule::Op op, std::string value,
                            bool number, std::string unit, const char* end) {
    Condition condition;
    condition.at = words.data() - lower.data();
    condition.end = end - lower.data();
    // The first condition counts, and of those that begin together the longer words.
    if (best.has_value() && (condition.at >= best->at + 12 || condition.at > best->at)) {
      if (!(best->fault == Rule::OP_UNSPECIFIED)) return;
    }
    const std::size_t from = condition.at > kCueReach ? condition.at - kCueReach : 0;
    absl::string_view before =
        absl::string_view(lower).substr(from, condition.at + words.size() - from);
    const absl::string_view after = absl::string_view(lower).substr(condition.end, 60);
    if (negations) {
      static const RE2* const kNot =
          new RE2(R"(\b(?:not|never|n't|cannot)\s+(?:be |go |rise |fall |drop )?$)");
      const absl::string_view up_to = absl::string_view(lower).substr(from, condition.at - from);
      if (RE2::PartialMatch(re2::StringPiece(up_to.data(), up_to.size()), *kNot)) op = Opposite(op);
    }
    condition.fault = SpeaksOfSound(before, after) ? Opposite(op) : op;
    condition.value = std::move(value);
    condition.number = number;
    condition.unit = std::move(unit);
    best = std::move(condition);
  };
  for (const Comparison& comparison : kComparisons) {
    // Without a look at negations "not below" is "below".
    if (!negations && comparison.op != Rule::GT && comparison.op != Rule::LT &&
        comparison.op != Rule::EQ && comparison.op != Rule::NE) {
      static const RE2* const kPlainBounds =
          new RE2(absl::StrCat(R"(\b(at least|at most|no more than|no less than)\s+)", kNumber));
      re2::StringPiece words;
      std::string number;
      std::string unit;
      re2::StringPiece rest(lower);
      if (RE2::FindAndConsume(&rest, *kPlainBounds, &words, &number, &unit)) {
        const bool lower_bound = words == "at least" || words == "no less than";
        consider(words, lower_bound ? Rule::GE : Rule::LE, Plain(number), true, unit, rest.data());
      }
      continue;
    }
    const RE2 numbers(absl::StrCat(R"((?:^|[^a-z<>=!]))", "(", comparison.words,
                                   R"()\s*(?:the value |a value of |around )?)", kNumber,
                                   R"((?:[^0-9a-z.]|\.\s|\.?$))"));
    const RE2 quoted(absl::StrCat(R"((?:^|[^a-z<>=!]))", "(", comparison.words,
                                  R"()\s*(?:the word |set to )?)", kWord));
    re2::StringPiece words;
    std::string number;
    std::string unit;
    re2::StringPiece rest(lower);
    if (RE2::FindAndConsume(&rest, numbers, &words, &number, &unit)) {
      consider(words, comparison.op, Plain(number), true, unit, rest.data());
    }
    rest = re2::StringPiece(lower);
    re2::StringPiece word;
    if ((comparison.op == Rule::EQ || comparison.op == Rule::NE) &&
        RE2::FindAndConsume(&rest, quoted, &words, &word)) {
      // The word as it was written.
      const std::string written(description.substr(word.data() - lower.data(), word.size()));
      consider(words, comparison.op, written, false, "", rest.data());
    }
  }
  static const RE2* const kOrMore = new RE2(
      absl::StrCat(R"(\b()", kNumber, R"( or (more|less|fewer|higher|lower|above|below|better)))"));
  re2::StringPiece start;
  std::string number;
  std::string unit;
  std::string which;
  re2::StringPiece rest(lower);
  if (RE2::FindAndConsume(&rest, *kOrMore, &start, &number, &unit, &which)) {
    const bool up = which == "more" || which == "higher" || which == "above" || which == "better";
    best.reset();
    consider(start, up ? Rule::GE : Rule::LE, Plain(number), true, unit, rest.data());
  }
  const std::optional<Condition> presence = Presence(std::string(lower));
  if (presence.has_value() && (!best.has_value() || !best->number)) {
    if (!best.has_value() || presence->at <= best->at) return presence;
  }
  return best;
}

}  // namespace galen::curation
