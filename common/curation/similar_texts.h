#ifndef COMMON_CURATION_SIMILAR_TEXTS_H_
#define COMMON_CURATION_SIMILAR_TEXTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace galen::curation {

// Texts as vectors of their words, weighted by how rare a word is among the texts, of length 1. The
// cosine of two of them is their similarity, 0 to 1. Built once, then immutable and thread-safe.
class SimilarTexts {
 public:
  using Vector = std::vector<std::pair<std::uint32_t, float>>;  // sorted by word

  explicit SimilarTexts(const std::vector<std::string>& texts);

  const Vector& vector(std::size_t text) const { return vectors_[text]; }
  // A text from outside; words that none of the texts has weigh nothing.
  Vector Embed(absl::string_view text) const;
  static double Cosine(const Vector& a, const Vector& b);
  // Each text that shares a word with `query` and its similarity; by text.
  std::vector<std::pair<std::size_t, double>> Near(const Vector& query) const;
  // The words with the largest weight in the sum of these texts, without digits; at most `count`.
  std::vector<std::string> Distinctive(const std::vector<std::size_t>& texts,
                                       std::size_t count) const;
  // Their sum, of length 1.
  Vector Centroid(const std::vector<std::size_t>& texts) const;

 private:
  std::vector<std::string> words_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;
  std::vector<float> rarity_;  // of each word
  std::vector<Vector> vectors_;
  std::vector<std::vector<std::pair<std::uint32_t, float>>>
      postings_;  // of each word: text, weight
};

}  // namespace galen::curation

#endif  // COMMON_CURATION_SIMILAR_TEXTS_H_
