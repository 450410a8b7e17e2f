#include "common/incident_history/search.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "common/incident_history/lexical.h"
#include "common/incident_history/rerank.h"

namespace galen::incident_history {
namespace {

constexpr double kFusion = 60;
// Depth to which each ranking is read, and the depth of the second search, for other labels than
// the first.
constexpr size_t kDepth = 128;
constexpr size_t kOtherDepth = 16;

std::uint64_t Key(const Scored& scored) {
  return (std::uint64_t{scored.part} << 32) | scored.document;
}

// The first ones of each label, in order.
std::vector<Scored> Spread(const View& view, const std::vector<Scored>& fused, size_t limit,
                           size_t per_label, size_t& labels) {
  absl::flat_hash_map<absl::string_view, size_t> taken;
  std::vector<Scored> spread;
  for (const Scored& scored : fused) {
    if (spread.size() == limit) break;
    if (taken[view.Label(scored)]++ < per_label) spread.push_back(scored);
  }
  labels = taken.size();
  return spread;
}

}  // namespace

std::vector<Scored> Fuse(absl::Span<const std::vector<Scored>> rankings) {
  absl::flat_hash_map<std::uint64_t, double> scores;
  std::vector<Scored> fused;
  for (const std::vector<Scored>& ranking : rankings) {
    for (size_t rank = 0; rank < ranking.size(); ++rank) {
      const auto [it, fresh] = scores.emplace(Key(ranking[rank]), 0);
      if (fresh) fused.push_back(ranking[rank]);
      it->second += 1 / (kFusion + 1 + static_cast<double>(rank));
    }
  }
  for (Scored& scored : fused) scored.score = static_cast<float>(scores[Key(scored)]);
  std::sort(fused.begin(), fused.end(), Better);
  return fused;
}

Answer Search(const View& view, const Embedder& embedder, absl::string_view question,
              const SearchOptions& options) {
  Answer answer;
  if (view.documents() == 0 || options.limit == 0) return answer;
  const std::vector<QueryTerm> terms = QueryTerms(view, question);
  absl::StatusOr<Vector> vector = embedder.EmbedQuery(
      question, [&](std::uint64_t term) { return view.Rarity(view.TermDocuments(term)); });
  answer.vectors = vector.status();
  const auto words = [&](size_t depth, absl::string_view without) {
    return SearchWords(view, terms, depth, without);
  };
  const auto vectors = [&](size_t depth, absl::string_view without,
                           absl::Span<const Scored> seeds) {
    DenseOptions dense = options.dense;
    dense.seeds = seeds;
    dense.without = std::string(without);
    return vector.ok() ? SearchVectors(view, *vector, embedder.name(), depth, dense)
                       : std::vector<Scored>();
  };
  const std::vector<Scored> worded = words(kDepth, "");
  std::vector<Scored> near = vectors(kDepth, "", worded);
  const std::vector<Scored> fused = Fuse({worded, near});
  size_t labels = 0;
  std::vector<Scored> best = Spread(view, fused, options.limit, options.per_label, labels);
  if (labels == 1 && fused.size() >= kDepth) {
    // One fault fills both rankings, so search for other faults too: by words first, which is
    // fastest, then by vectors.
    const std::string first(view.Label(best[0]));
    std::vector<Scored> others = words(kOtherDepth, first);
    if (others.empty()) {
      others = vectors(kOtherDepth, first, {});
      near.insert(near.end(), others.begin(), others.end());
    }
    others = Spread(view, Fuse({others}), options.limit, options.per_label, labels);
    best.insert(best.end(), others.begin(), others.end());
  }
  absl::flat_hash_map<std::uint64_t, float> cosines;
  for (const Scored& scored : near) cosines[Key(scored)] = scored.score;
  const Similarity similarity(view, question);
  for (const Scored& scored : best) {
    absl::StatusOr<Document> document = view.Read(scored);
    if (!document.ok()) {
      answer.damaged.push_back(document.status().ToString());
      continue;
    }
    const auto cosine = cosines.find(Key(scored));
    answer.hits.push_back({.document = *std::move(document),
                           .similarity = similarity.Of(scored),
                           .cosine = cosine == cosines.end() ? 0 : cosine->second,
                           .fused = scored.score});
  }
  std::stable_sort(answer.hits.begin(), answer.hits.end(), [](const Hit& a, const Hit& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.fused > b.fused;
  });
  if (answer.hits.size() > options.limit) answer.hits.resize(options.limit);
  return answer;
}

std::vector<Cause> DistinctCauses(absl::Span<const Hit> hits, double floor) {
  std::vector<Cause> causes;
  absl::flat_hash_map<absl::string_view, size_t> of_label;
  for (size_t i = 0; i < hits.size(); ++i) {
    if (hits[i].similarity < floor) continue;
    const auto [it, fresh] = of_label.emplace(hits[i].document.label, causes.size());
    if (fresh) causes.push_back({.label = hits[i].document.label});
    Cause& cause = causes[it->second];
    cause.score +=
        hits[i].similarity / static_cast<double>(1U << std::min<size_t>(cause.hits.size(), 10));
    cause.hits.push_back(i);
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.score > b.score; });
  return causes;
}

}  // namespace galen::incident_history
