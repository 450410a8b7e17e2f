#include "services/cli/eval/suite/diagram.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"

namespace galen::eval {
namespace {

// In log-odds; judgement, of the size that docs/reasoner.md gives a strong signal.
constexpr double kEffect = 2;
constexpr double kResidual = 1;
// An effect gives way to a cause that stands this much lower at most.
constexpr double kReach = 4;
constexpr double kDuelWord = 0.35;
constexpr double kMostOfDuel = 2.5;

std::set<std::string> WordsOfText(absl::string_view text) {
  std::set<std::string> words;
  std::string word;
  const auto end = [&] {
    if (word.size() > 4 && absl::EndsWith(word, "s") && !absl::EndsWith(word, "ss"))
      word.pop_back();
    if (word.size() > 2) words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      word += absl::ascii_tolower(static_cast<unsigned char>(c));
    } else {
      end();
    }
  }
  end();
  return words;
}

std::set<std::string> WordsOfLabel(const knowledge::v1::Label& label) {
  return WordsOfText(absl::StrCat(absl::StrReplaceAll(label.label(), {{".", " "}, {"_", " "}}), " ",
                                  label.title(), " ", label.description(), " ",
                                  absl::StrJoin(label.symptoms(), " ")));
}

// "Does not answer", "no progress" and the like are what is wrong.
bool Denies(absl::string_view clause, const DenialWords& words) {
  const std::string lower = absl::AsciiStrToLower(clause);
  return words.denial.In(lower) && !words.complaint.In(lower);
}

}  // namespace

absl::StatusOr<DenialWords> DenialWords::From(const words::Vocabulary& vocabulary) {
  DenialWords words;
  GALEN_RETURN_IF_ERROR(
      vocabulary.Fill({{"denial", &words.denial}, {"complaint", &words.complaint}}));
  return words;
}

std::string WithoutDenials(absl::string_view text, const DenialWords& words) {
  // Up to a mark that ends it, which is none within a number or a name.
  static const RE2* const kClause = new RE2(R"(((?:[^.;,\n]|[.,]\S)*(?:[.;,\n]+|$)))");
  std::string left;
  re2::StringPiece rest(text.data(), text.size());
  re2::StringPiece piece;
  while (!rest.empty() && RE2::Consume(&rest, *kClause, &piece)) {
    if (piece.empty()) {
      rest.remove_prefix(1);
      continue;
    }
    const absl::string_view clause(piece.data(), piece.size());
    if (!Denies(clause, words)) absl::StrAppend(&left, clause);
  }
  return left;
}

std::vector<Critique> CritiqueOf(const knowledge::Knowledge& knowledge,
                                 const std::vector<Proposition>& propositions) {
  std::vector<Critique> critiques;
  for (const Proposition& each : propositions) {
    const knowledge::v1::Label* label = knowledge.FindLabel(each.label);
    if (label == nullptr) continue;
    for (const Proposition& other : propositions) {
      const knowledge::v1::Label* cause = knowledge.FindLabel(other.label);
      if (cause == nullptr || other.label == each.label || other.belief < each.belief - kReach)
        continue;
      const auto& effects = cause->secondary_effects();
      const bool listed = std::find(effects.begin(), effects.end(), each.label) != effects.end();
      const auto& back = label->secondary_effects();
      const bool mutual = std::find(back.begin(), back.end(), other.label) != back.end();
      if (!listed || mutual || (each.signalled && !other.signalled)) continue;
      critiques.push_back({each.label, -kEffect, absl::StrCat("is an effect of ", other.label)});
      break;
    }
    if (label->residual())
      critiques.push_back(
          {each.label, -kResidual, "names how a failure looks, not where it comes from"});
  }
  return critiques;
}

double Duel(const knowledge::Knowledge& knowledge, const std::string& first,
            const std::string& second, absl::string_view text) {
  const knowledge::v1::Label* a = knowledge.FindLabel(first);
  const knowledge::v1::Label* b = knowledge.FindLabel(second);
  if (a == nullptr || b == nullptr) return 0;
  const std::set<std::string> said = WordsOfText(text);
  const std::set<std::string> of_a = WordsOfLabel(*a);
  const std::set<std::string> of_b = WordsOfLabel(*b);
  // Words that many labels have tell nothing.
  std::map<std::string, int> common;
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    for (const std::string& word : WordsOfLabel(label)) {
      if (said.count(word) > 0) ++common[word];
    }
  }
  double sum = 0;
  for (const std::string& word : said) {
    const bool in_a = of_a.count(word) > 0;
    if (in_a == (of_b.count(word) > 0)) continue;
    const double rare = std::max(0.0, std::log(40.0 / std::max(common[word], 1)));
    sum += (in_a ? 1 : -1) * rare * kDuelWord;
  }
  return std::clamp(sum, -kMostOfDuel, kMostOfDuel);
}

}  // namespace galen::eval
