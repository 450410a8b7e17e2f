#include "common/incident_history/rarities.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/functional/function_ref.h"

namespace galen::incident_history {
namespace {

// Each feature of a text with its weight.
void ForEachWeight(const Rarities& rarities, const Analysis& analysis,
                   absl::FunctionRef<void(std::uint64_t feature, double weight)> use) {
  for (const Analysis::Term& term : analysis.terms) {
    const double often = term.count <= 1 ? 1 : 1 + std::log(term.count);
    use(term.hash, often * rarities.Of(term.hash));
  }
  for (const std::uint16_t pair : analysis.pairs) use(pair, rarities.Of(pair));
}

}  // namespace

Rarities::Rarities(absl::Span<const Index* const> indexes, Failed failed)
    : indexes_(indexes.begin(), indexes.end()), failed_(std::move(failed)) {
  for (const Index* index : indexes_) documents_ += static_cast<double>(index->documents());
}

void Rarities::Learn(const std::vector<std::uint64_t>& features) {
  std::vector<std::uint64_t> unknown;
  for (const std::uint64_t feature : features) {
    if (frequencies_.emplace(feature, 0).second) unknown.push_back(feature);
  }
  if (unknown.empty()) return;
  std::erase_if(indexes_, [&](const Index* index) {
    const auto frequencies = index->Frequencies(unknown);
    if (!frequencies.ok()) {
      documents_ -= static_cast<double>(index->documents());
      failed_(*index, frequencies.status());
      return true;
    }
    for (size_t i = 0; i < unknown.size(); ++i) frequencies_[unknown[i]] += (*frequencies)[i];
    return false;
  });
}

double Rarities::Of(std::uint64_t feature) const {
  const auto it = frequencies_.find(feature);
  const std::uint64_t with = it == frequencies_.end() ? 0 : it->second;
  return std::log(1 + std::max(documents_, 0.0) /
                          static_cast<double>(std::max<std::uint64_t>(with, 1)));
}

Similarity::Similarity(const Rarities& rarities, const Analysis& question) : rarities_(rarities) {
  double square = 0;
  ForEachWeight(rarities, question, [&](std::uint64_t feature, double weight) {
    question_[feature] = weight;
    square += weight * weight;
  });
  norm_ = std::sqrt(square);
}

double Similarity::Of(const Analysis& document) const {
  double product = 0;
  double square = 0;
  ForEachWeight(rarities_, document, [&](std::uint64_t feature, double weight) {
    square += weight * weight;
    const auto it = question_.find(feature);
    if (it != question_.end()) product += weight * it->second;
  });
  if (norm_ <= 0 || square <= 0) return 0;
  return std::clamp(product / (norm_ * std::sqrt(square)), 0.0, 1.0);
}

}  // namespace galen::incident_history
