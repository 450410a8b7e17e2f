#ifndef COMMON_INCIDENT_HISTORY_MEMORY_INDEX_H_
#define COMMON_INCIDENT_HISTORY_MEMORY_INDEX_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/incident_history/index.h"
#include "common/incident_history/word_index.h"

namespace galen::incident_history {

// Some hundreds of documents in memory: a search scores each of them. Immutable.
class MemoryIndex final : public Index {
 public:
  MemoryIndex(std::vector<Document> documents, const Embedder& embedder);
  // With vectors that `embedder` made before, one for each document, of the same size or empty.
  MemoryIndex(std::vector<Document> documents, const std::vector<Vector>& vectors,
              std::string embedder);

  std::uint64_t documents() const override { return documents_.size(); }
  absl::StatusOr<std::vector<std::uint64_t>> Frequencies(
      absl::Span<const std::uint64_t> features) const override;
  absl::StatusOr<std::vector<Scored>> SearchWords(const std::vector<std::string>& words,
                                                  size_t most,
                                                  absl::string_view without) const override;
  absl::StatusOr<std::vector<Scored>> SearchVectors(const Vector& query,
                                                    const std::string& embedder, size_t most,
                                                    absl::string_view without) const override;
  absl::StatusOr<Document> Read(std::int64_t document) const override;

 private:
  std::vector<Document> documents_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> frequencies_;
  WordIndex words_;
  std::string embedder_;
  VectorRows vectors_;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_MEMORY_INDEX_H_
