#include "common/incident_history/dense.h"

#include <algorithm>
#include <array>

#include "common/incident_history/dot.h"
#include "common/incident_history/graph.h"

namespace galen::incident_history {
namespace {

// Rows whose products are computed at once: the products stay in the first cache.
constexpr size_t kBatch = 512;

// The documents from `begin` on, but for those of the label with number `without`.
void Scan(const Segment& segment, std::uint32_t begin, std::uint32_t without,
          const std::int8_t* query, float scale, std::uint32_t part, Top& top) {
  std::array<std::int32_t, kBatch> products{};
  const absl::Span<const float> scales = segment.scales();
  for (std::uint32_t row = begin; row < segment.documents(); row += kBatch) {
    const std::uint32_t count = std::min<std::uint32_t>(kBatch, segment.documents() - row);
    DotRows(query, segment.vectors() + row * segment.stride(), count, segment.stride(),
            products.data());
    float threshold = top.threshold();
    for (std::uint32_t i = 0; i < count; ++i) {
      const float score = static_cast<float>(products[i]) * scale * scales[row + i];
      if (score >= threshold && score > 0) {
        if (segment.document_labels()[row + i] == without) continue;
        top.Offer({part, row + i, score});
        threshold = top.threshold();
      }
    }
  }
}

}  // namespace

size_t DefaultEffort(size_t graph_documents) { return 512 + graph_documents / 512; }

std::vector<Scored> SearchVectors(const View& view, const Vector& query,
                                  const std::string& embedder, size_t most,
                                  const DenseOptions& options) {
  if (query.values.empty()) return {};
  Top top(most);
  std::vector<std::int8_t> row(Stride(query.values.size()));
  std::copy(query.values.begin(), query.values.end(), row.begin());
  std::uint32_t part = 0;
  for (const auto& segment : view.segments()) {
    if (segment->embedder() == absl::string_view(embedder) && segment->stride() == row.size()) {
      const std::uint32_t without =
          options.without.empty() ? segment->labels() : segment->FindLabel(options.without);
      std::uint32_t begin = 0;
      if (!options.exact && segment->header().graph_documents > 0) {
        if (options.without.empty()) {
          const size_t effort = options.effort > 0
                                    ? options.effort
                                    : DefaultEffort(segment->header().graph_documents);
          SearchGraph(*segment, row.data(), query.scale, std::max(effort, most), options.seeds,
                      part, top);
        }
        begin = segment->header().graph_documents;
      }
      Scan(*segment, begin, without, row.data(), query.scale, part, top);
    }
    ++part;
  }
  for (const View::RecentPart& recent : view.recent()) {
    for (std::uint32_t i = 0; i < recent.count; ++i) {
      const Recent& document = *recent.block->documents[i];
      if (document.embedder != embedder || document.vector.values.size() != query.values.size() ||
          (!options.without.empty() && document.document.label == options.without)) {
        continue;
      }
      std::int32_t product = 0;
      for (size_t k = 0; k < query.values.size(); ++k) {
        product += static_cast<std::int32_t>(query.values[k]) *
                   static_cast<std::int32_t>(document.vector.values[k]);
      }
      const float score = static_cast<float>(product) * query.scale * document.vector.scale;
      if (score > 0) top.Offer({part, i, score});
    }
    ++part;
  }
  return top.Take();
}

}  // namespace galen::incident_history
