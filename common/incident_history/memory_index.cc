#include "common/incident_history/memory_index.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/incident_history/tokens.h"

namespace galen::incident_history {
namespace {

// Empty for a document whose vector cannot be made: words find it.
std::vector<Vector> VectorsOf(const std::vector<Document>& documents, const Embedder& embedder) {
  std::vector<Vector> vectors;
  for (const Document& document : documents) {
    vectors.push_back(embedder.EmbedDocument(document.text).value_or(Vector()));
  }
  return vectors;
}

size_t DimensionsOf(const std::vector<Vector>& vectors) {
  size_t dimensions = 0;
  for (const Vector& vector : vectors) dimensions = std::max(dimensions, vector.values.size());
  return dimensions;
}

}  // namespace

MemoryIndex::MemoryIndex(std::vector<Document> documents, const Embedder& embedder)
    : MemoryIndex(documents, VectorsOf(documents, embedder), embedder.name()) {}

MemoryIndex::MemoryIndex(std::vector<Document> documents, const std::vector<Vector>& vectors,
                         std::string embedder)
    : documents_(std::move(documents)),
      embedder_(std::move(embedder)),
      vectors_(DimensionsOf(vectors)) {
  std::vector<std::vector<std::uint64_t>> texts;
  for (size_t i = 0; i < documents_.size(); ++i) {
    std::vector<std::uint64_t>& hashes = texts.emplace_back();
    ForEachToken(absl::string_view(documents_[i].text).substr(0, kMaxTextBytes),
                 [&](absl::string_view word) { hashes.push_back(Hash64(word)); });
    for (const std::uint64_t feature : FeaturesOf(Analyse(documents_[i].text))) {
      ++frequencies_[feature];
    }
    if (i < vectors.size()) {
      vectors_.Add(static_cast<std::int64_t>(i), documents_[i].label, vectors[i]);
    }
  }
  words_ = WordIndex(texts);
}

absl::StatusOr<std::vector<std::uint64_t>> MemoryIndex::Frequencies(
    absl::Span<const std::uint64_t> features) const {
  std::vector<std::uint64_t> frequencies;
  frequencies.reserve(features.size());
  for (const std::uint64_t feature : features) {
    const auto it = frequencies_.find(feature);
    frequencies.push_back(it == frequencies_.end() ? 0 : it->second);
  }
  return frequencies;
}

absl::StatusOr<std::vector<Scored>> MemoryIndex::SearchWords(const std::vector<std::string>& words,
                                                             size_t most,
                                                             absl::string_view without) const {
  std::vector<std::uint64_t> hashes;
  for (const std::string& word : words) hashes.push_back(Hash64(word));
  const std::vector<double> scores = words_.Scores(std::move(hashes));
  std::vector<Scored> found;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] <= 0 || (!without.empty() && documents_[i].label == without)) continue;
    found.push_back({static_cast<std::int64_t>(i), scores[i]});
  }
  return Best(std::move(found), most);
}

absl::StatusOr<std::vector<Scored>> MemoryIndex::SearchVectors(const Vector& query,
                                                               const std::string& embedder,
                                                               size_t most,
                                                               absl::string_view without) const {
  if (embedder != embedder_) return std::vector<Scored>();
  return vectors_.Search(query, most, without);
}

absl::StatusOr<Document> MemoryIndex::Read(std::int64_t document) const {
  if (document < 0 || static_cast<size_t>(document) >= documents_.size()) {
    return absl::NotFoundError(absl::StrCat("no past incident has number ", document));
  }
  return documents_[static_cast<size_t>(document)];
}

}  // namespace galen::incident_history
