#include "common/incident_history/search.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/base/status_macros.h"
#include "common/incident_history/rarities.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

constexpr double kFusion = 60;
// Depth to which each ranking is read, and the depth of the second search, for other labels than
// the first.
constexpr size_t kDepth = 128;
constexpr size_t kOtherDepth = 16;

// The search of one index for the candidates of one question.
class Candidates {
 public:
  Candidates(const Index& index, const Vector& vector, const std::string& embedder,
             const SearchOptions& options)
      : index_(index), vector_(vector), embedder_(embedder), options_(options) {}

  absl::StatusOr<std::vector<Hit>> Find(absl::string_view question) {
    GALEN_ASSIGN_OR_RETURN(words_, QueryWords(index_, question));
    GALEN_ASSIGN_OR_RETURN(const std::vector<Scored> worded,
                           index_.SearchWords(words_, kDepth, ""));
    GALEN_ASSIGN_OR_RETURN(const std::vector<Scored> near, Near(kDepth, ""));
    const std::vector<Scored> fused = Fuse({worded, near});
    GALEN_ASSIGN_OR_RETURN(const size_t labels, Take(fused));
    if (labels == 1 && fused.size() >= kDepth) {
      // One fault fills both rankings, so search for other faults too: by words first, and where
      // no other fault shares a word, by vectors.
      const std::string first = hits_[0].document.label;
      GALEN_ASSIGN_OR_RETURN(std::vector<Scored> others,
                             index_.SearchWords(words_, kOtherDepth, first));
      if (others.empty()) {
        GALEN_ASSIGN_OR_RETURN(others, Near(kOtherDepth, first));
      }
      GALEN_RETURN_IF_ERROR(Take(Fuse({others})).status());
    }
    return std::move(hits_);
  }

 private:
  absl::StatusOr<std::vector<Scored>> Near(size_t most, absl::string_view without) {
    if (vector_.values.empty()) return std::vector<Scored>();
    GALEN_ASSIGN_OR_RETURN(std::vector<Scored> near,
                           index_.SearchVectors(vector_, embedder_, most, without));
    for (const Scored& scored : near) cosines_[scored.document] = scored.score;
    return near;
  }

  // Reads the first ones of each label, in order. Returns how many labels they have.
  absl::StatusOr<size_t> Take(const std::vector<Scored>& fused) {
    absl::flat_hash_map<std::string, size_t> taken;
    size_t count = 0;
    for (const Scored& scored : fused) {
      if (count == options_.limit) break;
      GALEN_ASSIGN_OR_RETURN(Document document, index_.Read(scored.document));
      if (taken[document.label]++ >= options_.per_label) continue;
      const auto cosine = cosines_.find(scored.document);
      hits_.push_back({.document = std::move(document),
                       .cosine = cosine == cosines_.end() ? 0 : cosine->second,
                       .fused = scored.score});
      ++count;
    }
    return taken.size();
  }

  const Index& index_;
  const Vector& vector_;
  const std::string& embedder_;
  const SearchOptions& options_;
  std::vector<std::string> words_;
  absl::flat_hash_map<std::int64_t, double> cosines_;
  std::vector<Hit> hits_;
};

}  // namespace

std::vector<Scored> Fuse(absl::Span<const std::vector<Scored>> rankings) {
  absl::flat_hash_map<std::int64_t, double> scores;
  for (const std::vector<Scored>& ranking : rankings) {
    for (size_t rank = 0; rank < ranking.size(); ++rank) {
      scores[ranking[rank].document] += 1 / (kFusion + 1 + static_cast<double>(rank));
    }
  }
  std::vector<Scored> fused;
  for (const auto& [document, score] : scores) fused.push_back({document, score});
  const size_t all = fused.size();
  return Best(std::move(fused), all);
}

absl::StatusOr<std::vector<std::string>> QueryWords(const Index& index, absl::string_view text) {
  std::vector<std::string> words = Tokens(text.substr(0, kMaxTextBytes));
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::vector<std::uint64_t> hashes;
  for (const std::string& word : words) hashes.push_back(Hash64(word));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::uint64_t> frequencies, index.Frequencies(hashes));
  std::vector<std::pair<std::uint64_t, std::string>> known;
  for (size_t i = 0; i < words.size(); ++i) {
    if (frequencies[i] > 0) known.emplace_back(frequencies[i], std::move(words[i]));
  }
  std::sort(known.begin(), known.end());
  if (known.size() > kMaxQueryWords) known.resize(kMaxQueryWords);
  std::vector<std::string> rarest;
  for (auto& [frequency, word] : known) rarest.push_back(std::move(word));
  return rarest;
}

Answer Search(absl::Span<const Index* const> indexes, const Embedder& embedder,
              absl::string_view question, const SearchOptions& options) {
  Answer answer;
  if (options.limit == 0) return answer;
  std::vector<const Index*> sound(indexes.begin(), indexes.end());
  const auto failed = [&](const Index& index, const absl::Status& status) {
    answer.failed.push_back(status);
    std::erase(sound, &index);
  };
  const Analysis asked = Analyse(question);
  Rarities rarities(indexes, failed);
  rarities.Learn(FeaturesOf(asked));
  const absl::StatusOr<Vector> vector =
      embedder.EmbedQuery(question, [&](std::uint64_t term) { return rarities.Of(term); });
  answer.vectors = vector.status();
  const Vector& near = vector.ok() ? *vector : Vector();
  const std::string name = embedder.name();
  for (const Index* index : std::vector<const Index*>(sound)) {
    absl::StatusOr<std::vector<Hit>> found = Candidates(*index, near, name, options).Find(question);
    if (!found.ok()) {
      failed(*index, found.status());
      continue;
    }
    std::move(found->begin(), found->end(), std::back_inserter(answer.hits));
  }
  std::vector<Analysis> analyses;
  std::vector<std::uint64_t> features;
  for (const Hit& hit : answer.hits) {
    analyses.push_back(Analyse(hit.document.text));
    const std::vector<std::uint64_t> own = FeaturesOf(analyses.back());
    features.insert(features.end(), own.begin(), own.end());
  }
  rarities.Learn(features);
  const Similarity similarity(rarities, asked);
  for (size_t i = 0; i < answer.hits.size(); ++i) {
    answer.hits[i].similarity = similarity.Of(analyses[i]);
  }
  std::stable_sort(answer.hits.begin(), answer.hits.end(), [](const Hit& a, const Hit& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.fused > b.fused;
  });
  absl::flat_hash_map<std::string, size_t> taken;
  std::erase_if(answer.hits,
                [&](const Hit& hit) { return taken[hit.document.label]++ >= options.per_label; });
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
