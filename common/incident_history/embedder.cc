#include "common/incident_history/embedder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

constexpr int kPicks = 16;  // dimensions of a feature
constexpr size_t kGram = 4;
// Weights in sixteenths. Words with a digit or an underscore are names and codes rather than
// English. Pairs and pieces together weigh about as much as the words.
constexpr double kUnit = 64;
constexpr double kName = 1.5;
constexpr double kPair = 0.6;
constexpr double kGrams = 0.5;

using Sums = std::array<std::int32_t, HashedEmbedder::kDimensions>;

void Add(std::uint64_t feature, std::int32_t weight, Sums& sums) {
  static_assert(HashedEmbedder::kDimensions == 256, "a pick takes eight bits and a sign");
  std::uint64_t bits = feature;
  for (int pick = 0; pick < kPicks; ++pick) {
    if (pick % 4 == 0) bits = Mix(bits + 0x9e3779b97f4a7c15U);
    const std::uint64_t piece = bits >> (16 * (pick % 4));
    const std::int32_t sign = (piece & 256) != 0 ? 1 : -1;
    sums[piece & 255] += sign * weight;
  }
}

struct Word {
  std::uint32_t count = 0;
  bool name = false;
  std::vector<std::uint64_t> grams;
};

std::int32_t Fixed(double weight) { return static_cast<std::int32_t>(std::lround(weight * kUnit)); }

}  // namespace

Vector Normalised(std::vector<std::int8_t> values) {
  double square = 0;
  for (const std::int8_t value : values) {
    square += static_cast<double>(value) * static_cast<double>(value);
  }
  if (square == 0) return {};
  return {.values = std::move(values), .scale = static_cast<float>(1 / std::sqrt(square))};
}

Vector Quantize(const std::vector<float>& components) {
  float largest = 0;
  for (const float component : components) {
    if (!std::isfinite(component)) return {};
    largest = std::max(largest, std::fabs(component));
  }
  if (largest == 0) return {};
  std::vector<std::int8_t> values;
  values.reserve(components.size());
  for (const float component : components) {
    values.push_back(static_cast<std::int8_t>(
        std::lround(static_cast<double>(component) * 127 / static_cast<double>(largest))));
  }
  // From the rounded values, so that the cosine of a text with itself is exactly 1.
  return Normalised(std::move(values));
}

std::vector<float> HashedEmbedder::Components(absl::string_view text, const Rarity* rarity) {
  absl::flat_hash_map<std::uint64_t, Word> words;
  absl::flat_hash_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> pairs;
  std::uint64_t previous = 0;
  bool first = true;
  ForEachToken(text.substr(0, kMaxTextBytes), [&](absl::string_view token) {
    const std::uint64_t hash = Hash64(token);
    Word& word = words[hash];
    if (++word.count == 1) {
      word.name = std::any_of(token.begin(), token.end(), [](char c) {
        return (c >= '0' && c <= '9') || c == '_' || c == '.';
      });
      for (size_t i = 0; token.size() > kGram && i + kGram <= token.size(); ++i) {
        word.grams.push_back(Mix(Hash64(token.substr(i, kGram)) + 1));
      }
    }
    if (!first) pairs[Mix(previous + 31 * hash)] = {previous, hash};
    first = false;
    previous = hash;
  });
  const auto rare = [&](std::uint64_t term) { return rarity == nullptr ? 1.0 : (*rarity)(term); };
  Sums sums{};
  for (const auto& [hash, word] : words) {
    const double weight =
        rare(hash) * (1 + std::log(std::min(word.count, 255U))) * (word.name ? kName : 1);
    Add(hash, Fixed(weight), sums);
    if (word.grams.empty()) continue;
    const std::int32_t each =
        Fixed(weight * kGrams / std::sqrt(static_cast<double>(word.grams.size())));
    for (const std::uint64_t gram : word.grams) Add(gram, each, sums);
  }
  for (const auto& [feature, both] : pairs) {
    Add(feature, Fixed(kPair * (rare(both.first) + rare(both.second)) / 2), sums);
  }
  return {sums.begin(), sums.end()};
}

absl::StatusOr<Vector> HashedEmbedder::EmbedDocument(absl::string_view text) const {
  return Quantize(Components(text, nullptr));
}

absl::StatusOr<Vector> HashedEmbedder::EmbedQuery(absl::string_view text, Rarity rarity) const {
  return Quantize(Components(text, &rarity));
}

}  // namespace galen::incident_history
