#include "common/phrases/outcome.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::phrases {
namespace {

// A sentence that only says whether the change in the sentence before helped is short.
constexpr std::size_t kShortSentence = 90;

bool IsOfName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ||
         c == '+';
}

// Lower case, with plain apostrophes and spaces.
std::string Plainly(absl::string_view text) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(text),
                             {{"\xe2\x80\x99", "'"}, {"\t", " "}, {"\r", " "}});
}

// The name that is mentioned may be a word that tells an outcome ("persistence mode").
void BlankName(std::string& text) {
  for (std::size_t i = text.size(); i > 0 && IsOfName(text[i - 1]); --i) text[i - 1] = '_';
}

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

// A line break ends a sentence before an item of a list, a heading, a table or an empty line, and
// behind a line that is not full.
bool LineEndsSentence(absl::string_view text, std::size_t newline) {
  constexpr std::size_t kFullLine = 60;
  std::size_t begin = text.rfind('\n', newline == 0 ? 0 : newline - 1);
  begin = begin == absl::string_view::npos || newline == 0 ? 0 : begin + 1;
  if (newline - begin < kFullLine) return true;
  const absl::string_view next = absl::StripLeadingAsciiWhitespace(text.substr(newline + 1));
  if (next.empty() || (newline + 1 < text.size() && text[newline + 1] == '\n')) return true;
  return absl::string_view("-*+#>|`").find(next[0]) != absl::string_view::npos;
}

bool EndsSentence(absl::string_view text, std::size_t i, const OutcomeWords& words) {
  const char c = text[i];
  if (c == '\n') return LineEndsSentence(text, i);
  if (c != '.' && c != '!' && c != '?') return false;
  if (i + 1 < text.size() && !IsSpace(text[i + 1]) && text[i + 1] != ')' && text[i + 1] != '"') {
    return false;
  }
  return c != '.' || !words.abbreviation.In(text.substr(i < 8 ? 0 : i - 8, i < 8 ? i : 8));
}

// The span of the sentence that holds byte `at`.
Span SentenceAt(absl::string_view text, std::size_t at, const OutcomeWords& words) {
  Span sentence{0, text.size()};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!EndsSentence(text, i, words)) continue;
    if (i < at) {
      sentence.begin = i + 1;
    } else {
      sentence.end = i + 1;
      break;
    }
  }
  return sentence;
}

absl::string_view Of(absl::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

// A clause ends at a mark between clauses, and before a word that begins another one.
std::vector<Span> ClausesOf(absl::string_view text, Span sentence, const OutcomeWords& words) {
  constexpr absl::string_view kMarks = ",;:()|";
  std::vector<Span> clauses;
  std::size_t begin = sentence.begin;
  const auto end_at = [&](std::size_t end) {
    if (end > begin) clauses.push_back({begin, end});
    begin = end;
  };
  std::optional<Span> turn = words.turn.Find(text.substr(0, sentence.end), sentence.begin);
  for (std::size_t i = sentence.begin; i < sentence.end; ++i) {
    if (turn.has_value() && i == turn->begin) {
      end_at(i);
      turn = words.turn.Find(text.substr(0, sentence.end), turn->end);
      continue;
    }
    const bool before_space = i + 1 >= sentence.end || IsSpace(text[i + 1]);
    const bool dash = (text[i] == '-' && i > 0 && IsSpace(text[i - 1]) && before_space) ||
                      text.substr(i, 3) == "\xe2\x80\x94" || text.substr(i, 3) == "\xe2\x80\x93" ||
                      text.substr(i, 2) == "->";
    const bool bracket = text[i] == '(' || text[i] == ')';
    if (dash || bracket || (kMarks.find(text[i]) != absl::string_view::npos && before_space)) {
      end_at(i + 1);
    }
  }
  end_at(sentence.end);
  return clauses;
}

Outcome OfClause(absl::string_view clause, const OutcomeWords& words) {
  const bool untried = words.not_tried.In(clause);
  if (words.in_vain.In(clause)) return Outcome::kFails;
  if (words.put_right.In(clause) || words.no_failure.In(clause)) {
    return untried ? Outcome::kUnknown : Outcome::kWorks;
  }
  if (words.went_wrong.In(clause)) return Outcome::kFails;
  if (words.came_right.In(clause) && !untried) return Outcome::kWorks;
  return Outcome::kUnknown;
}

Outcome Inverse(Outcome outcome) {
  if (outcome == Outcome::kWorks) return Outcome::kFails;
  if (outcome == Outcome::kFails) return Outcome::kWorks;
  return outcome;
}

}  // namespace

absl::StatusOr<OutcomeWords> OutcomeWords::From(const Vocabulary& vocabulary) {
  OutcomeWords words;
  GALEN_RETURN_IF_ERROR(vocabulary.Fill({
      {"not_tried", &words.not_tried},
      {"in_vain", &words.in_vain},
      {"put_right", &words.put_right},
      {"no_failure", &words.no_failure},
      {"went_wrong", &words.went_wrong},
      {"came_right", &words.came_right},
      {"turn", &words.turn},
      {"without", &words.without},
      {"refers_back", &words.refers_back},
      {"either_way", &words.either_way},
      {"abbreviation", &words.abbreviation},
  }));
  return words;
}

absl::StatusOr<std::shared_ptr<const OutcomeWords>> OutcomeWords::Load(
    const std::vector<std::string>& directories) {
  const absl::StatusOr<Vocabulary> vocabulary = Vocabulary::Load(directories);
  if (absl::IsNotFound(vocabulary.status())) return nullptr;
  if (!vocabulary.ok()) return vocabulary.status();
  GALEN_ASSIGN_OR_RETURN(OutcomeWords words, From(*vocabulary));
  return std::make_shared<const OutcomeWords>(std::move(words));
}

Outcome OutcomeOf(absl::string_view text, std::size_t end, const OutcomeWords& words) {
  if (end == 0 || end > text.size()) return Outcome::kUnknown;
  const std::size_t from = end > kOutcomeReach ? end - kOutcomeReach : 0;
  std::string lower = Plainly(text.substr(from, end - from));
  BlankName(lower);
  const std::size_t at = lower.size() - 1;
  lower += Plainly(text.substr(end, kOutcomeReach));
  const Span sentence = SentenceAt(lower, at, words);
  if (sentence.end > 0 && lower[sentence.end - 1] == '?') return Outcome::kUnknown;
  const std::vector<Span> clauses = ClausesOf(lower, sentence, words);
  const auto own =
      std::find_if(clauses.begin(), clauses.end(), [&](Span clause) { return at < clause.end; });
  if (own == clauses.end()) return Outcome::kUnknown;
  const bool absent =
      words.without.In(absl::string_view(lower).substr(own->begin, at + 1 - own->begin));
  if (words.either_way.In(absl::string_view(lower).substr(own->begin, own->end - own->begin))) {
    return Outcome::kFails;
  }
  const auto tell = [&](Outcome outcome) { return absent ? Inverse(outcome) : outcome; };
  for (auto clause = own; clause != clauses.end(); ++clause) {
    const Outcome outcome = OfClause(Of(lower, *clause), words);
    if (outcome != Outcome::kUnknown) return tell(outcome);
    if (words.not_tried.In(Of(lower, *clause))) return Outcome::kUnknown;
  }
  for (auto clause = own; clause != clauses.begin();) {
    const Outcome outcome = OfClause(Of(lower, *--clause), words);
    if (outcome != Outcome::kUnknown) return tell(outcome);
  }
  if (sentence.end >= lower.size()) return Outcome::kUnknown;
  std::size_t next = sentence.end;
  while (next < lower.size() && IsSpace(lower[next])) ++next;
  const absl::string_view answer = Of(lower, SentenceAt(lower, next, words));
  if (next >= lower.size() || answer.size() > kShortSentence || answer.back() == '?' ||
      !words.refers_back.In(answer)) {
    return Outcome::kUnknown;
  }
  return tell(OfClause(answer, words));
}

absl::string_view NameAt(absl::string_view text, std::size_t end) {
  end = std::min(end, text.size());
  std::size_t begin = end;
  while (begin > 0 && IsOfName(text[begin - 1])) --begin;
  while (end < text.size() && IsOfName(text[end])) ++end;
  const absl::string_view name = text.substr(begin, end - begin);
  return absl::StripSuffix(absl::StripSuffix(name, "."), "-");
}

}  // namespace galen::phrases
