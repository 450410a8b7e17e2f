#ifndef COMMON_INCIDENT_HISTORY_GRAPH_H_
#define COMMON_INCIDENT_HISTORY_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/incident_history/segment.h"
#include "common/incident_history/segment_format.h"
#include "common/incident_history/top.h"

namespace galen::incident_history {

// A hierarchical small-world graph over vectors (Malkov and Yashunin, 2016), in the layout of a
// segment. Built by hnswlib; read in place, so that opening a segment copies no vector and loads no
// graph.
struct Graph {
  std::uint32_t documents = 0;
  std::uint32_t links = 0;  // of a document and level; twice as many on the lowest
  std::uint32_t entry = 0;
  std::uint32_t levels = 0;
  std::vector<std::uint32_t> base;
  std::vector<format::UpperEntry> upper;
  std::vector<std::uint32_t> upper_links;
};

struct GraphOptions {
  std::uint32_t links = 32;    // 2 to format::kMaxLinks
  std::uint32_t effort = 200;  // candidates looked at for each new document
  int threads = 1;             // with more than one, two builds differ a little
};

// The graph over `count` rows; `scales[i]` times a number of row i is its component. Takes about
// `count` * (stride + 8 * links) bytes and, as the options stand, half a
// millisecond a row.
Graph BuildGraph(const std::int8_t* rows, absl::Span<const float> scales, size_t count,
                 size_t stride, const GraphOptions& options);

// The graph of a segment.
Graph CopyGraph(const Segment& segment);

// Documents of the segment's graph near `query` (stride() bytes), by scalar product times `scale`
// and the row's own scale. Starts from the graph's entry and from `seeds`, documents that other
// searches found (those of another part or outside the graph are ignored), and visits at least
// `effort` candidates; offers them to `top` as part `part`. Visits each document at most once, so
// it ends even when the links are corrupt.
void SearchGraph(const Segment& segment, const std::int8_t* query, float scale, size_t effort,
                 absl::Span<const Scored> seeds, std::uint32_t part, Top& top);

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_GRAPH_H_
