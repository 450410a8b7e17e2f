#ifndef COMMON_INCIDENT_HISTORY_VECTOR_ROWS_H_
#define COMMON_INCIDENT_HISTORY_VECTOR_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/incident_history/embedder.h"

namespace galen::incident_history {

// A document of an index, by the number that the index gives it.
struct Scored {
  std::int64_t document = 0;
  double score = 0;
};

// The `most` with the highest scores, best first; equal ones by rising number. Pure.
std::vector<Scored> Best(std::vector<Scored> all, size_t most);

// Vectors of documents, one after the other in memory; a search looks at each. Not thread-safe.
class VectorRows {
 public:
  explicit VectorRows(size_t dimensions) : dimensions_(dimensions) {}

  // Leaves out an empty vector, and one of another size.
  void Add(std::int64_t document, absl::string_view label, const Vector& vector);

  // As Index::SearchVectors().
  std::vector<Scored> Search(const Vector& query, size_t most, absl::string_view without) const;

 private:
  struct Row {
    std::int64_t document = 0;
    std::uint64_t label = 0;  // hashed
    float scale = 0;
  };

  size_t dimensions_;
  std::vector<std::int8_t> values_;
  std::vector<Row> rows_;
};

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_VECTOR_ROWS_H_
