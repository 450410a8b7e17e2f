#include "bench/eval/suite/drafts/condition.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/re2_piece.h"

namespace galen::drafts {
namespace {

using knowledge::v1::Rule;

// How far a cue may be before a comparison, and how far after it.
constexpr std::size_t kCueReach = 120;
constexpr std::size_t kCueReachBehind = 60;

std::string Plain(const std::string& number) {
  static constexpr std::array<std::pair<absl::string_view, absl::string_view>, 8> kWords = {
      {{"zero", "0"},
       {"none", "0"},
       {"one", "1"},
       {"two", "2"},
       {"three", "3"},
       {"four", "4"},
       {"eight", "8"},
       {"sixteen", "16"}}};
  for (const auto& [word, digits] : kWords) {
    if (number == word) return std::string(digits);
  }
  return absl::StrReplaceAll(number, {{",", ""}});
}

// The position of the last cue that `pattern` finds; -1 without one.
std::ptrdiff_t LastCue(const RE2& pattern, absl::string_view text) {
  re2::StringPiece cue;
  return RE2::PartialMatch(Piece(text), pattern, &cue) ? cue.data() - text.data() : -1;
}

// Whether the statement holds on a healthy machine. The nearest cue before the comparison decides;
// without one, the text after it.
bool SpeaksOfSound(absl::string_view before, absl::string_view after,
                   const DescriptionWords& words) {
  const std::ptrdiff_t sound = LastCue(*words.last_sound, before);
  const std::ptrdiff_t fault = LastCue(*words.last_faulty, before);
  if (sound >= 0 || fault >= 0) return sound > fault;
  return LastCue(*words.last_faulty, after) < 0;
}

// The text before `at`, within the reach of cues.
absl::string_view CuesBefore(absl::string_view text, std::size_t at) {
  return text.substr(at > kCueReach ? at - kCueReach : 0, std::min(at, kCueReach));
}

std::optional<Condition> Presence(absl::string_view text, const DescriptionWords& words) {
  re2::StringPiece said;
  re2::StringPiece behind;
  if (!RE2::PartialMatch(Piece(text), *words.presence, &said, &behind)) return std::nullopt;
  Condition condition;
  condition.presence = true;
  condition.at = said.data() - text.data();
  condition.end = behind.data() - text.data();
  const absl::string_view whole =
      text.substr(condition.at, condition.end + behind.size() - condition.at);
  const bool absent = words.absent.In(whole);
  const bool sound = SpeaksOfSound(absl::StrCat(CuesBefore(text, condition.at), " ",
                                                absl::string_view(said.data(), said.size())),
                                   absl::string_view(behind.data(), behind.size()), words);
  // A healthy machine has it, or a faulty one lacks it: a fault if it is missing.
  condition.fault = sound != absent ? Rule::NE : Rule::EQ;
  return condition;
}

// Finds the first condition of a description.
class Reader {
 public:
  Reader(absl::string_view description, const DescriptionWords& words, bool negations)
      : description_(description),
        lower_(absl::AsciiStrToLower(description)),
        words_(words),
        negations_(negations) {}

  std::optional<Condition> Read() {
    if (!negations_) ReadPlainBound();
    for (const DescriptionWords::Comparison& comparison : words_.comparisons) {
      const bool bound = comparison.op == Rule::GE || comparison.op == Rule::LE;
      // Without regard to negations "not below" is "below".
      if (bound && !negations_) continue;
      ReadComparison(comparison);
    }
    ReadOrMore();
    std::optional<Condition> presence = Presence(lower_, words_);
    if (presence.has_value() &&
        (!best_.has_value() || (!best_->number && presence->at <= best_->at))) {
      return presence;
    }
    return best_;
  }

 private:
  struct Value {
    std::string text;
    bool number = false;
    std::string unit;
  };

  // If there are several conditions, the first counts; among those that begin together, the last
  // that is searched for.
  void Consider(absl::string_view said, Rule::Op op, Value value, const char* end) {
    const std::size_t at = said.data() - lower_.data();
    if (best_.has_value() && at > best_->at) return;
    if (negations_ && words_.turned_round.In(CuesBefore(lower_, at))) op = Opposite(op);
    Condition condition;
    condition.at = at;
    condition.end = end - lower_.data();
    const absl::string_view lower = lower_;
    const std::size_t from = at > kCueReach ? at - kCueReach : 0;
    const bool sound = SpeaksOfSound(lower.substr(from, at + said.size() - from),
                                     lower.substr(condition.end, kCueReachBehind), words_);
    condition.fault = sound ? Opposite(op) : op;
    condition.value = std::move(value.text);
    condition.number = value.number;
    condition.unit = std::move(value.unit);
    best_ = std::move(condition);
  }

  void ReadComparison(const DescriptionWords::Comparison& comparison) {
    re2::StringPiece rest(lower_);
    re2::StringPiece said;
    std::string number;
    std::string unit;
    if (RE2::FindAndConsume(&rest, *comparison.number, &said, &number, &unit)) {
      Consider({said.data(), said.size()}, comparison.op, {Plain(number), true, unit}, rest.data());
    }
    if (comparison.quoted == nullptr) return;
    rest = re2::StringPiece(lower_);
    re2::StringPiece text;
    if (RE2::FindAndConsume(&rest, *comparison.quoted, &said, &text)) {
      // In its original spelling.
      Value value;
      value.text = std::string(description_.substr(text.data() - lower_.data(), text.size()));
      Consider({said.data(), said.size()}, comparison.op, std::move(value), rest.data());
    }
  }

  void ReadPlainBound() {
    re2::StringPiece rest(lower_);
    re2::StringPiece least;
    re2::StringPiece most;
    std::string number;
    std::string unit;
    if (!RE2::FindAndConsume(&rest, *words_.plain_bound, &least, &most, &number, &unit)) return;
    const re2::StringPiece said = least.empty() ? most : least;
    Consider({said.data(), said.size()}, least.empty() ? Rule::LE : Rule::GE,
             {Plain(number), true, unit}, rest.data());
  }

  // "8 or more" takes precedence over everything else.
  void ReadOrMore() {
    re2::StringPiece rest(lower_);
    re2::StringPiece digits;
    std::string unit;
    re2::StringPiece more;
    if (!RE2::FindAndConsume(&rest, *words_.or_more, &digits, &unit, &more)) return;
    best_.reset();
    Consider({digits.data(), 0}, more.empty() ? Rule::LE : Rule::GE,
             {Plain(std::string(digits)), true, unit}, rest.data());
  }

  const absl::string_view description_;
  const std::string lower_;
  const DescriptionWords& words_;
  const bool negations_;
  std::optional<Condition> best_;
};

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

std::optional<Condition> ReadCondition(absl::string_view description, const DescriptionWords& words,
                                       bool negations) {
  return Reader(description, words, negations).Read();
}

}  // namespace galen::drafts
