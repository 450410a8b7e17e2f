#include "common/reasoner/likeness.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/incident_history/tokens.h"
#include "common/knowledge/nothing_wrong.h"

namespace galen::reasoner {
namespace {

// P(leaf | text) = (1 - kByChance) softmax(score / (kLeastDoubt + kDoubt sqrt(words))) +
// kByChance / leaves, where the score is BM25 of the leaf as a whole, plus kOfSentences of its best
// sentences, plus kOfTitle of its best sentences for the title alone; each sentence has a weight of
// kFurtherSentence of the one before. Fitted on the texts of 389 reports and incidents with a known
// cause, none of which was known to the authors of the complaints: docs/decisions/019.
constexpr double kLeastDoubt = 3;
constexpr double kDoubt = 0.3;
constexpr double kOfSentences = 0.43;
constexpr double kOfTitle = 0.5;
constexpr double kByChance = 0.08;
constexpr size_t kBestSentences = 6;
constexpr double kFurtherSentence = 0.6;
// A longer first line is not a title.
constexpr size_t kMostOfTitle = 160;
// Words point to a leaf if its weight (a logarithm) is at least this; otherwise messages count for
// this share.
constexpr double kTells = 3.2;
constexpr double kOfMessages = 0.5;
constexpr absl::string_view kBetween("\0", 1);
// Number of cached answers, and maximum length of their texts: 8 MiB in total.
constexpr size_t kMostKept = 512;
constexpr size_t kMostTextKept = size_t{16} << 10;

// Words that are common in every sentence, sorted.
constexpr absl::string_view kEverywhere[] = {
    "all",   "an",   "and",  "any",  "are",   "as",    "at",   "be",    "but",   "by",   "can",
    "could", "did",  "do",   "does", "for",   "from",  "had",  "has",   "have",  "how",  "if",
    "in",    "is",   "it",   "its",  "my",    "no",    "not",  "of",    "on",    "or",   "our",
    "so",    "than", "that", "the",  "their", "them",  "then", "there", "they",  "this", "to",
    "was",   "we",   "were", "what", "when",  "which", "will", "with",  "would", "you",  "your"};

using Told = std::map<std::string, std::set<std::string>>;

// People's sentences for each leaf: complaints, and the meanings of messages for descriptions.
Told ToldOfLeaves(const knowledge::Knowledge& knowledge) {
  Told told;
  for (const knowledge::v1::SignalPattern& pattern : knowledge.base().signals()) {
    const auto& where = pattern.where();
    if (pattern.labels_size() > 0 &&
        std::find(where.begin(), where.end(), galen::v1::DESCRIPTION) != where.end()) {
      told[pattern.labels(0)].insert(pattern.meaning());
    }
  }
  for (const knowledge::v1::Complaints& complaints : knowledge.base().complaints()) {
    told[complaints.label()].insert(complaints.told().begin(), complaints.told().end());
  }
  return told;
}

// "hangs", "hanging" and "hanged" are one word.
absl::string_view Stem(absl::string_view word) {
  constexpr size_t kLeast = 3;
  for (const absl::string_view end : {"ing", "ies", "ed", "es", "s", "ly"}) {
    if (absl::EndsWith(word, end) && word.size() >= end.size() + kLeast) {
      return word.substr(0, word.size() - end.size());
    }
  }
  return word;
}

std::vector<std::uint64_t> WordsOf(absl::string_view text) {
  std::vector<std::uint64_t> words;
  incident_history::ForEachToken(
      text.substr(0, incident_history::kMaxTextBytes),
      [&](absl::string_view word) { words.push_back(incident_history::Hash64(word)); });
  return words;
}

// Stems of meaningful words, and pairs of neighbours.
std::vector<std::uint64_t> StemsAndPairs(absl::string_view text) {
  std::vector<std::uint64_t> stems;
  incident_history::ForEachToken(
      text.substr(0, incident_history::kMaxTextBytes), [&](absl::string_view word) {
        if (std::binary_search(std::begin(kEverywhere), std::end(kEverywhere), word)) return;
        stems.push_back(incident_history::Hash64(Stem(word)));
      });
  const size_t single = stems.size();
  for (size_t i = 1; i < single; ++i)
    stems.push_back(incident_history::Mix(stems[i - 1] + 31 * stems[i]));
  return stems;
}

// The first line, if an empty one follows: in it the author of a report says what is wrong, before
// circumstances and settings. Empty if the text has no title.
absl::string_view TitleOf(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  const size_t end = text.find('\n');
  if (end == absl::string_view::npos || end > kMostOfTitle) return "";
  const absl::string_view rest = text.substr(end + 1);
  const bool empty_line = absl::StripAsciiWhitespace(rest.substr(0, rest.find('\n'))).empty();
  if (!empty_line || absl::StripAsciiWhitespace(rest).empty()) return "";
  return text.substr(0, end);
}

}  // namespace

LikenessIndex::LikenessIndex(const knowledge::Knowledge& knowledge) {
  Told told = ToldOfLeaves(knowledge);
  std::vector<std::vector<std::uint64_t>> wholes;
  std::vector<std::vector<std::uint64_t>> sentences;
  const auto add = [&](std::string name, absl::string_view heading,
                       const std::set<std::string>& of_name) {
    wholes.push_back(WordsOf(absl::StrCat(heading, absl::StrJoin(of_name, "\n"))));
    for (const std::string& sentence : of_name) {
      sentences.push_back(StemsAndPairs(sentence));
      told_.push_back({leaves_.size(), sentence});
    }
    leaves_.push_back(std::move(name));
  };
  for (const knowledge::v1::Label& leaf : knowledge.base().labels()) {
    if (!knowledge::IsLeaf(leaf)) continue;
    std::set<std::string>& of_leaf = told[leaf.label()];
    of_leaf.insert(leaf.symptoms().begin(), leaf.symptoms().end());
    of_leaf.insert(absl::StrCat(leaf.title(), ". ", leaf.description()));
    add(leaf.label(),
        absl::StrCat(absl::StrReplaceAll(leaf.label(), {{".", " "}, {"_", " "}}), "\n",
                     leaf.title(), "\n"),
        of_leaf);
  }
  if (const auto nothing = told.find(std::string(knowledge::kNothingWrong));
      nothing != told.end()) {
    add(nothing->first, "", nothing->second);
  }
  wholes_ = incident_history::WordIndex(wholes);
  sentences_ = incident_history::WordIndex(sentences);
}

std::shared_ptr<const Likeness> LikenessIndex::Of(absl::string_view words,
                                                  absl::string_view messages) const {
  const std::string text = absl::StrCat(words, kBetween, messages);
  if (text.size() > kMostTextKept) {
    return std::make_shared<const Likeness>(Weigh(words, messages));
  }
  {
    MutexLock lock(mu_);
    if (const auto known = answers_.find(text); known != answers_.end()) return known->second;
  }
  auto answer = std::make_shared<const Likeness>(Weigh(words, messages));
  MutexLock lock(mu_);
  if (answers_.size() >= kMostKept) answers_.clear();
  return answers_.emplace(text, std::move(answer)).first->second;
}

std::vector<std::string> LikenessIndex::MostLike(absl::string_view text, std::size_t most) const {
  const std::shared_ptr<const Likeness> alike = Of(text, "");
  std::vector<std::pair<double, std::string>> best;
  for (const auto& [leaf, like] : *alike) {
    if (like.weight > 0 && leaf != knowledge::kNothingWrong) best.emplace_back(-like.weight, leaf);
  }
  std::sort(best.begin(), best.end());
  if (best.size() > most) best.resize(most);
  std::vector<std::string> leaves;
  for (auto& [weight, leaf] : best) leaves.push_back(std::move(leaf));
  return leaves;
}

Likeness LikenessIndex::Weigh(absl::string_view words, absl::string_view messages) const {
  Likeness likeness = WeighText(words, TitleOf(words));
  const bool tells = std::any_of(likeness.begin(), likeness.end(),
                                 [](const auto& each) { return each.second.weight >= kTells; });
  if (tells) return likeness;
  // Uninformative words subtract nothing from a leaf either.
  for (auto& [leaf, like] : likeness) like.weight = std::max(like.weight, 0.0);
  for (const auto& [leaf, like] : WeighText(messages, "")) {
    // A program does not say that nothing is wrong.
    if (like.weight <= 0 || leaf == knowledge::kNothingWrong) continue;
    Like& of_both = likeness[leaf];
    const double weight = kOfMessages * like.weight;
    if (weight > of_both.weight) of_both = {weight, like.told};
  }
  return likeness;
}

std::vector<LikenessIndex::Nearest> LikenessIndex::NearestSentences(absl::string_view text) const {
  using Scored = std::pair<double, size_t>;
  std::vector<std::vector<Scored>> by_leaf(leaves_.size());
  const std::vector<double> of_sentences = sentences_.Scores(StemsAndPairs(text));
  for (size_t i = 0; i < of_sentences.size(); ++i) {
    if (of_sentences[i] > 0) by_leaf[told_[i].leaf].emplace_back(of_sentences[i], i);
  }
  std::vector<Nearest> nearest(leaves_.size());
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    std::vector<Scored>& best = by_leaf[leaf];
    const size_t count = std::min(best.size(), kBestSentences);
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end(),
                      std::greater<>());
    double share = 1;
    for (size_t i = 0; i < count; ++i) {
      nearest[leaf].score += share * best[i].first;
      share *= kFurtherSentence;
    }
    if (count > 0) nearest[leaf].sentence = best.front().second;
  }
  return nearest;
}

Likeness LikenessIndex::WeighText(absl::string_view text, absl::string_view title) const {
  Likeness likeness;
  const std::vector<std::uint64_t> words = WordsOf(text);
  const int known = wholes_.Known(words);
  if (known == 0) return likeness;
  std::vector<double> scores = wholes_.Scores(words);
  const std::vector<Nearest> nearest = NearestSentences(text);
  const std::vector<Nearest> to_title = NearestSentences(title);
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    scores[leaf] += kOfSentences * nearest[leaf].score + kOfTitle * to_title[leaf].score;
  }
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = std::exp((score - highest) / (kLeastDoubt + kDoubt * std::sqrt(known)));
    sum += score;
  }
  const auto leaves = static_cast<double>(leaves_.size());
  for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    const double weight = std::log((1 - kByChance) * scores[leaf] / sum * leaves + kByChance);
    Like& like = likeness[leaves_[leaf]];
    like.weight = weight;
    if (weight > 0 && nearest[leaf].score > 0) like.told = told_[nearest[leaf].sentence].text;
  }
  return likeness;
}

}  // namespace galen::reasoner
