#ifndef COMMON_INCIDENT_HISTORY_INDEX_H_
#define COMMON_INCIDENT_HISTORY_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/incident_history/document.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/vector_rows.h"

namespace galen::incident_history {

// Documents that Search() asks. Documents may be added, and never change or go. Thread-safe.
// Errors: those of its file; a search then goes on without this index.
class Index {
 public:
  Index() = default;
  virtual ~Index() = default;
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  virtual std::uint64_t documents() const = 0;

  // How many documents have each of these features (tokens.h), in their order.
  virtual absl::StatusOr<std::vector<std::uint64_t>> Frequencies(
      absl::Span<const std::uint64_t> features) const = 0;

  // The `most` documents that BM25 ranks highest for different `words` (tokens.h), best first; none
  // of label `without` unless that is empty. Scores only order them.
  virtual absl::StatusOr<std::vector<Scored>> SearchWords(const std::vector<std::string>& words,
                                                          size_t most,
                                                          absl::string_view without) const = 0;

  // The `most` documents whose vectors have the highest cosine with `query`, above 0, best first;
  // none of label `without` unless that is empty. Only vectors of `embedder` are compared.
  virtual absl::StatusOr<std::vector<Scored>> SearchVectors(const Vector& query,
                                                            const std::string& embedder,
                                                            size_t most,
                                                            absl::string_view without) const = 0;

  // One that a search found.
  virtual absl::StatusOr<Document> Read(std::int64_t document) const = 0;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_INDEX_H_
