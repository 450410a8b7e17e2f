#ifndef COMMON_INCIDENT_HISTORY_DENSE_H_
#define COMMON_INCIDENT_HISTORY_DENSE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/incident_history/embedder.h"
#include "common/incident_history/view.h"

namespace galen::incident_history {

struct DenseOptions {
  // Looks at every vector, even where a graph could lead.
  bool exact = false;
  // Candidates that a walk through a graph looks at, at least: more find more, and take longer. 0:
  // DefaultEffort.
  size_t effort = 0;
  // Documents found by words, from which a walk starts too. Neighbours by vector mostly share
  // words, and the entry of a graph of a million is far from most of it.
  absl::Span<const Scored> seeds;
  // Leaves out documents of this label, unless empty. A graph is then not asked.
  std::string without;
};

// The default effort for a graph of this many documents, measured by bench/retrieval; its README
// has the results.
size_t DefaultEffort(size_t graph_documents);

// The `most` documents whose vectors have the highest cosine with `query`, above 0, best first.
// Without a graph: exactly those. Vectors of another embedder than `embedder` are left out.
std::vector<Scored> SearchVectors(const View& view, const Vector& query,
                                  const std::string& embedder, size_t most,
                                  const DenseOptions& options = {});

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_DENSE_H_
