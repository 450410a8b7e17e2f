#include "common/curation/similar_texts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "common/incident_history/tokens.h"

namespace galen::curation {
namespace {

using Counts = std::map<std::uint32_t, int>;

SimilarTexts::Vector Normalised(SimilarTexts::Vector vector) {
  double square = 0;
  for (const auto& [word, weight] : vector) square += static_cast<double>(weight) * weight;
  if (square > 0) {
    for (auto& [word, weight] : vector) weight /= static_cast<float>(std::sqrt(square));
  }
  return vector;
}

// A repeated word counts more than a single one, but not in proportion.
float Weight(int count, float rarity) { return (1 + std::log(static_cast<float>(count))) * rarity; }

}  // namespace

SimilarTexts::SimilarTexts(const std::vector<std::string>& texts) {
  std::vector<Counts> counts(texts.size());
  std::vector<int> in_texts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const std::string& word : incident_history::Tokens(texts[i])) {
      const auto [it, added] = numbers_.emplace(word, static_cast<std::uint32_t>(words_.size()));
      if (added) {
        words_.push_back(word);
        in_texts.push_back(0);
      }
      if (++counts[i][it->second] == 1) ++in_texts[it->second];
    }
  }
  for (const int in : in_texts) {
    rarity_.push_back(static_cast<float>(
        std::log((1.0 + static_cast<double>(texts.size())) / (0.5 + static_cast<double>(in)))));
  }
  postings_.resize(words_.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Vector vector;
    for (const auto& [word, count] : counts[i]) {
      vector.emplace_back(word, Weight(count, rarity_[word]));
    }
    vectors_.push_back(Normalised(std::move(vector)));
    for (const auto& [word, weight] : vectors_.back()) {
      postings_[word].emplace_back(static_cast<std::uint32_t>(i), weight);
    }
  }
}

SimilarTexts::Vector SimilarTexts::Embed(absl::string_view text) const {
  Counts counts;
  for (const std::string& word : incident_history::Tokens(text)) {
    if (const auto it = numbers_.find(word); it != numbers_.end()) ++counts[it->second];
  }
  Vector vector;
  for (const auto& [word, count] : counts) {
    vector.emplace_back(word, Weight(count, rarity_[word]));
  }
  return Normalised(std::move(vector));
}

double SimilarTexts::Cosine(const Vector& a, const Vector& b) {
  double sum = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (i->first < j->first) {
      ++i;
    } else if (j->first < i->first) {
      ++j;
    } else {
      sum += static_cast<double>((i++)->second) * (j++)->second;
    }
  }
  return sum;
}

std::vector<std::pair<std::size_t, double>> SimilarTexts::Near(const Vector& query) const {
  absl::flat_hash_map<std::uint32_t, double> sums;
  for (const auto& [word, weight] : query) {
    for (const auto& [text, other] : postings_[word]) {
      sums[text] += static_cast<double>(weight) * other;
    }
  }
  std::vector<std::pair<std::size_t, double>> near(sums.begin(), sums.end());
  std::sort(near.begin(), near.end());
  return near;
}

SimilarTexts::Vector SimilarTexts::Centroid(const std::vector<std::size_t>& texts) const {
  std::map<std::uint32_t, float> sum;
  for (const std::size_t text : texts) {
    for (const auto& [word, weight] : vectors_[text]) sum[word] += weight;
  }
  return Normalised(Vector(sum.begin(), sum.end()));
}

std::vector<std::string> SimilarTexts::Distinctive(const std::vector<std::size_t>& texts,
                                                   std::size_t count) const {
  Vector centroid = Centroid(texts);
  // A word of many texts is more distinctive than a frequent word of one.
  std::map<std::uint32_t, int> said;
  for (const std::size_t text : texts) {
    for (const auto& entry : vectors_[text]) ++said[entry.first];
  }
  std::stable_sort(centroid.begin(), centroid.end(), [&](const auto& a, const auto& b) {
    const float left = a.second * static_cast<float>(said[a.first]);
    const float right = b.second * static_cast<float>(said[b.first]);
    return left != right ? left > right : words_[a.first] < words_[b.first];
  });
  std::vector<std::string> words;
  for (const auto& [number, weight] : centroid) {
    const std::string& word = words_[number];
    const bool letters = word.size() >= 3 && std::all_of(word.begin(), word.end(), [](char c) {
                           return (c >= 'a' && c <= 'z') || c == '_';
                         });
    if (letters) words.push_back(word);
    if (words.size() == count) break;
  }
  return words;
}

}  // namespace galen::curation
