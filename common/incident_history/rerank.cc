#include "common/incident_history/rerank.h"

#include <algorithm>
#include <cmath>

namespace galen::incident_history {
namespace {

double Often(std::uint32_t count) { return count <= 1 ? 1 : 1 + std::log(count); }

// DocumentScore up one document.
struct DocumentScore {
  double product = 0;
  double square = 0;

  void Add(double weight, double in_question) {
    product += weight * in_question;
    square += weight * weight;
  }
};

template <typename Map, typename Key>
double Find(const Map& map, Key key) {
  const auto it = map.find(key);
  return it == map.end() ? 0 : it->second;
}

}  // namespace

Similarity::Similarity(const View& view, absl::string_view question) : view_(view) {
  const Analysis analysis = Analyse(question);
  double square = 0;
  for (const Analysis::Term& term : analysis.terms) {
    const double weight = Often(term.count) * view.Rarity(view.TermDocuments(term.hash));
    terms_[term.hash] = weight;
    square += weight * weight;
  }
  for (const std::uint16_t pair : analysis.pairs) {
    const double weight = view.Rarity(view.PairDocuments(pair));
    pairs_[pair] = weight;
    square += weight * weight;
  }
  norm_ = std::sqrt(square);
}

double Similarity::Of(const Scored& document) const {
  DocumentScore sums;
  const auto add_pairs = [&](absl::Span<const std::uint16_t> pairs) {
    for (const std::uint16_t pair : pairs) {
      sums.Add(view_.Rarity(view_.PairDocuments(pair)), Find(pairs_, pair));
    }
  };
  if (view_.IsRecent(document.part)) {
    const Analysis& analysis = view_.recent(document.part, document.document).analysis;
    for (const Analysis::Term& term : analysis.terms) {
      sums.Add(Often(term.count) * view_.Rarity(view_.TermDocuments(term.hash)),
               Find(terms_, term.hash));
    }
    add_pairs(analysis.pairs);
  } else {
    const Segment& segment = *view_.segments()[document.part];
    const absl::Span<const std::uint32_t> terms = segment.ForwardTerms(document.document);
    const absl::Span<const std::uint8_t> counts = segment.ForwardCounts(document.document);
    const bool alone = view_.segments().size() == 1;
    for (size_t i = 0; i < terms.size(); ++i) {
      const std::uint64_t hash = segment.TermHash(terms[i]);
      const std::uint64_t documents =
          alone ? segment.TermDocuments(terms[i]) : view_.TermDocuments(hash);
      sums.Add(Often(counts[i]) * view_.Rarity(documents), Find(terms_, hash));
    }
    add_pairs(segment.Pairs(document.document));
  }
  if (norm_ <= 0 || sums.square <= 0) return 0;
  return std::clamp(sums.product / (norm_ * std::sqrt(sums.square)), 0.0, 1.0);
}

}  // namespace galen::incident_history
