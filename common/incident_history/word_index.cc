#include "common/incident_history/word_index.h"

#include <algorithm>
#include <cmath>

namespace galen::incident_history {
namespace {

// The usual constants of BM25 (Robertson and Zaragoza, "The probabilistic relevance framework",
// 2009).
constexpr double kBm25Saturation = 1.2;
constexpr double kBm25Length = 0.75;

void KeepDifferent(std::vector<std::uint64_t>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

}  // namespace

WordIndex::WordIndex(absl::Span<const std::vector<std::uint64_t>> texts) : texts_(texts.size()) {
  double mean = 0;
  for (const std::vector<std::uint64_t>& words : texts) {
    mean += static_cast<double>(words.size()) / static_cast<double>(texts.size());
  }
  for (std::size_t text = 0; text < texts.size(); ++text) {
    std::vector<std::uint64_t> words = texts[text];
    std::sort(words.begin(), words.end());
    for (std::size_t i = 0; i < words.size();) {
      const std::size_t first = i;
      while (i < words.size() && words[i] == words[first]) ++i;
      const auto count = static_cast<double>(i - first);
      const double length =
          1 - kBm25Length + kBm25Length * static_cast<double>(words.size()) / std::max(mean, 1.0);
      const double weight = count * (kBm25Saturation + 1) / (count + kBm25Saturation * length);
      postings_.push_back(
          {words[first], static_cast<std::uint32_t>(text), static_cast<float>(weight)});
    }
  }
  std::sort(postings_.begin(), postings_.end(), [](const Posting& a, const Posting& b) {
    return a.word != b.word ? a.word < b.word : a.text < b.text;
  });
  for (std::size_t i = 0; i < postings_.size();) {
    const std::size_t first = i;
    while (i < postings_.size() && postings_[i].word == postings_[first].word) ++i;
    const auto with = static_cast<double>(i - first);
    const double rarity = std::log(1 + (static_cast<double>(texts_) - with + 0.5) / (with + 0.5));
    for (std::size_t each = first; each < i; ++each) {
      postings_[each].weight = static_cast<float>(postings_[each].weight * rarity);
    }
  }
}

absl::Span<const WordIndex::Posting> WordIndex::Of(std::uint64_t word) const {
  const auto begin = std::lower_bound(
      postings_.begin(), postings_.end(), word,
      [](const Posting& posting, std::uint64_t sought) { return posting.word < sought; });
  auto end = begin;
  while (end != postings_.end() && end->word == word) ++end;
  return absl::MakeConstSpan(postings_).subspan(static_cast<std::size_t>(begin - postings_.begin()),
                                                static_cast<std::size_t>(end - begin));
}

std::vector<double> WordIndex::Scores(std::vector<std::uint64_t> words) const {
  KeepDifferent(words);
  std::vector<double> scores(texts_);
  for (const std::uint64_t word : words) {
    for (const Posting& posting : Of(word)) scores[posting.text] += posting.weight;
  }
  return scores;
}

int WordIndex::Known(std::vector<std::uint64_t> words) const {
  KeepDifferent(words);
  return static_cast<int>(std::count_if(words.begin(), words.end(),
                                        [&](std::uint64_t word) { return !Of(word).empty(); }));
}

}  // namespace galen::incident_history
