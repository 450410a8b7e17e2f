#include "bench/eval/suite/drafts/find_check.h"

#include <re2/re2.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace galen::drafts {
namespace {

// Below this share of the question's weight no check is meant. Judgement.
constexpr double kLeastScore = 2.5;

// Words without their endings, so that "errors" finds "error".
std::set<std::string> Stems(absl::string_view text, const phrases::Phrases& common) {
  std::set<std::string> stems;
  std::string word;
  const auto end = [&] {
    if (word.size() > 1 && !common.In(word)) {
      if (word.size() > 4 && absl::EndsWith(word, "s") && !absl::EndsWith(word, "ss"))
        word.pop_back();
      if (word.size() > 6 && absl::EndsWith(word, "ing")) word.resize(word.size() - 3);
      if (word.size() > 5 && absl::EndsWith(word, "ed")) word.resize(word.size() - 2);
      stems.insert(word);
    }
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
  return stems;
}

std::set<std::string> WordsOfCheck(const knowledge::v1::Check& check,
                                   const phrases::Phrases& common) {
  std::string text = absl::StrCat(check.name(), " ", check.title());
  for (const auto& finding : check.findings()) absl::StrAppend(&text, " ", finding.name());
  for (const std::string& read : check.reads()) {
    if (!absl::StartsWith(read, "/")) absl::StrAppend(&text, " ", read);
  }
  return Stems(text, common);
}

}  // namespace

const knowledge::v1::Check* FindCheckByWords(const knowledge::v1::KnowledgeBase& base,
                                             absl::string_view asked,
                                             const DescriptionWords& words) {
  std::vector<std::set<std::string>> documents;
  std::map<std::string, int> seen_in;
  for (const auto& check : base.checks()) {
    documents.push_back(WordsOfCheck(check, words.common_word));
    for (const std::string& stem : documents.back()) ++seen_in[stem];
  }
  const std::set<std::string> stems = Stems(asked, words.common_word);
  const knowledge::v1::Check* best = nullptr;
  double best_score = kLeastScore;
  for (int i = 0; i < base.checks_size(); ++i) {
    const std::set<std::string> title =
        Stems(absl::StrCat(base.checks(i).name(), " ", base.checks(i).title()), words.common_word);
    double score = 0;
    for (const std::string& stem : stems) {
      if (documents[i].count(stem) == 0) continue;
      const double rare = std::log(1.0 + static_cast<double>(base.checks_size()) / seen_in[stem]);
      score += title.count(stem) > 0 ? 1.5 * rare : rare;
    }
    score /= 1.0 + 0.02 * static_cast<double>(documents[i].size());
    if (score > best_score) {
      best_score = score;
      best = &base.checks(i);
    }
  }
  return best;
}

std::map<std::string, std::string> ParametersFrom(const knowledge::v1::Check& check,
                                                  absl::string_view words) {
  const std::string lower = absl::AsciiStrToLower(words);
  std::map<std::string, std::string> found;
  for (const knowledge::v1::Parameter& parameter : check.parameters()) {
    std::string value;
    const std::string name = RE2::QuoteMeta(parameter.name());
    if (parameter.type() == "int" || parameter.type() == "float") {
      const RE2 by_name(
          absl::StrCat(R"(\b)", name, R"(\s*(?:=|:|is|of|number|no\.?)?\s*([0-9]+(?:\.[0-9]+)?))"));
      if (RE2::PartialMatch(lower, by_name, &value)) {
        found[parameter.name()] = value;
        continue;
      }
      std::string unit = parameter.unit();
      if (unit == "s") unit = "seconds?|s|sec";
      if (unit.empty()) {
        // "4 GPUs" for `gpus`; "level 3" was handled above.
        unit = absl::StrCat(name, "s?");
      } else if (unit == "MiB") {
        unit = "mib|mb|megabytes?";
      } else {
        unit = absl::AsciiStrToLower(unit);
      }
      const RE2 by_unit(absl::StrCat(R"(\b([0-9]+(?:\.[0-9]+)?)\s*(?:)", unit, R"()\b)"),
                        RE2::Quiet);
      std::string minutes;
      if (by_unit.ok() && RE2::PartialMatch(lower, by_unit, &value)) {
        found[parameter.name()] = value;
      } else if (parameter.unit() == "s" &&
                 RE2::PartialMatch(lower, R"(\b([0-9]+)\s*minutes?\b)", &minutes)) {
        std::int64_t count = 0;
        if (minutes.size() < 6) {
          for (const char c : minutes) count = count * 10 + (c - '0');
          found[parameter.name()] = absl::StrCat(count * 60);
        }
      }
      continue;
    }
    const RE2 by_word(
        absl::StrCat(R"(\b)", name, R"(\s*(?:=|:|is)?\s*["'`]?([a-z0-9_./:-]*[a-z0-9_/]))"));
    bool chosen = false;
    for (const std::string& choice : parameter.choices()) {
      if (RE2::PartialMatch(
              lower,
              absl::StrCat(R"(\b)", RE2::QuoteMeta(absl::AsciiStrToLower(choice)), R"(\b)"))) {
        found[parameter.name()] = choice;
        chosen = true;
        break;
      }
    }
    if (!chosen && parameter.choices().empty() && parameter.name() != "token" &&
        RE2::PartialMatch(lower, by_word, &value)) {
      found[parameter.name()] = value;
    }
  }
  return found;
}

}  // namespace galen::drafts
