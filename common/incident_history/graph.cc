#include "common/incident_history/graph.h"

// Its hints of what to load next read one number past the end of a list, which changes nothing but
// is what AddressSanitizer looks for.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NO_MANUAL_VECTORIZATION
#endif
#endif
#include <hnswlib/hnswlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <queue>
#include <thread>

#include "common/incident_history/dot.h"

namespace galen::incident_history {
namespace {

// Rows as hnswlib compares them: the numbers, and behind them the scale.
class Space final : public hnswlib::SpaceInterface<float> {
 public:
  explicit Space(size_t stride) : stride_(stride) {}
  size_t get_data_size() override { return stride_ + sizeof(float); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return Distance; }
  void* get_dist_func_param() override { return &stride_; }

 private:
  static float Distance(const void* left, const void* right, const void* stride) {
    const size_t bytes = *static_cast<const size_t*>(stride);
    const auto* a = static_cast<const std::int8_t*>(left);
    const auto* b = static_cast<const std::int8_t*>(right);
    std::int32_t dot = 0;
    DotRows(a, b, 1, bytes, &dot);
    float scale_a = 0;
    float scale_b = 0;
    std::memcpy(&scale_a, a + bytes, sizeof(float));
    std::memcpy(&scale_b, b + bytes, sizeof(float));
    return 1 - static_cast<float>(dot) * scale_a * scale_b;
  }

  size_t stride_;
};

struct Near {
  float score = 0;
  std::uint32_t document = 0;
};
struct WorstFirst {
  bool operator()(const Near& a, const Near& b) const {
    return a.score != b.score ? a.score > b.score : a.document < b.document;
  }
};
struct BestFirst {
  bool operator()(const Near& a, const Near& b) const { return WorstFirst()(b, a); }
};

class Walk {
 public:
  Walk(const Segment& segment, const std::int8_t* query, float scale)
      : segment_(segment),
        query_(query),
        scale_(scale),
        documents_(segment.header().graph_documents),
        links_(segment.header().graph_links) {}

  float Score(std::uint32_t document) const {
    std::int32_t dot = 0;
    DotRows(query_, segment_.vectors() + document * segment_.stride(), 1, segment_.stride(), &dot);
    return static_cast<float>(dot) * scale_ * segment_.scales()[document];
  }

  // Neighbours on a level above the lowest.
  absl::Span<const std::uint32_t> Upper(std::uint32_t document, std::uint32_t level) const {
    const absl::Span<const format::UpperEntry> upper = segment_.graph_upper();
    const auto it = std::lower_bound(upper.begin(), upper.end(), document,
                                     [](const format::UpperEntry& entry, std::uint32_t wanted) {
                                       return entry.document < wanted;
                                     });
    if (it == upper.end() || it->document != document || level > it->levels) return {};
    return Listed(segment_.graph_upper_links(), it->link + std::uint64_t{level - 1} * (1 + links_),
                  links_);
  }

  absl::Span<const std::uint32_t> Base(std::uint32_t document) const {
    return Listed(segment_.graph_links(), std::uint64_t{document} * (1 + 2 * links_), 2 * links_);
  }

  std::uint32_t documents() const { return documents_; }

 private:
  static absl::Span<const std::uint32_t> Listed(absl::Span<const std::uint32_t> all,
                                                std::uint64_t at, std::uint32_t most) {
    if (at + 1 + most > all.size()) return {};
    return all.subspan(at + 1, std::min(all[at], most));
  }

  const Segment& segment_;
  const std::int8_t* query_;
  const float scale_;
  const std::uint32_t documents_;
  const std::uint32_t links_;
};

// Follows the best neighbour down to the lowest level.
Near Descend(const Walk& walk, const format::Header& header) {
  Near best{walk.Score(header.graph_entry), header.graph_entry};
  for (std::uint32_t level = header.graph_levels; level > 0; --level) {
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::uint32_t neighbour : walk.Upper(best.document, level)) {
        if (neighbour >= walk.documents()) continue;
        const float score = walk.Score(neighbour);
        if (score <= best.score) continue;  // so that it ends
        best = {score, neighbour};
        moved = true;
      }
    }
  }
  return best;
}

}  // namespace

Graph BuildGraph(const std::int8_t* rows, absl::Span<const float> scales, size_t count,
                 size_t stride, const GraphOptions& options) {
  Graph graph;
  if (count == 0) return graph;
  Space space(stride);
  hnswlib::HierarchicalNSW<float> index(&space, count, options.links, options.effort);
  const auto add = [&](size_t i) {
    std::vector<char> row(stride + sizeof(float));
    std::memcpy(row.data(), rows + i * stride, stride);
    std::memcpy(row.data() + stride, &scales[i], sizeof(float));
    index.addPoint(row.data(), i);
  };
  add(0);  // the first alone: the others start from it
  std::atomic<size_t> next = 1;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) add(i);
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  // hnswlib numbers rows in the order in which threads brought them.
  const auto row = [&](hnswlib::tableint internal) {
    return static_cast<std::uint32_t>(index.getExternalLabel(internal));
  };
  std::vector<hnswlib::tableint> internal(count);
  for (hnswlib::tableint i = 0; i < count; ++i) internal[row(i)] = i;
  graph.documents = static_cast<std::uint32_t>(count);
  graph.links = options.links;
  graph.entry = row(index.enterpoint_node_);
  graph.levels = static_cast<std::uint32_t>(index.maxlevel_);
  graph.base.assign(count * (1 + 2 * options.links), 0);
  const auto copy = [&](hnswlib::linklistsizeint* list, std::uint32_t* to) {
    const size_t neighbours = index.getListCount(list);
    to[0] = static_cast<std::uint32_t>(neighbours);
    for (size_t i = 0; i < neighbours; ++i) to[1 + i] = row(list[1 + i]);
  };
  for (size_t i = 0; i < count; ++i) {
    copy(index.get_linklist0(internal[i]), graph.base.data() + i * (1 + 2 * options.links));
    const int levels = index.element_levels_[internal[i]];
    if (levels == 0) continue;
    graph.upper.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(levels),
                           static_cast<std::uint32_t>(graph.upper_links.size())});
    for (int level = 1; level <= levels; ++level) {
      const size_t at = graph.upper_links.size();
      graph.upper_links.resize(at + 1 + options.links, 0);
      copy(index.get_linklist(internal[i], level), graph.upper_links.data() + at);
    }
  }
  return graph;
}

Graph CopyGraph(const Segment& segment) {
  const format::Header& header = segment.header();
  return {.documents = header.graph_documents,
          .links = header.graph_links,
          .entry = header.graph_entry,
          .levels = header.graph_levels,
          .base = {segment.graph_links().begin(), segment.graph_links().end()},
          .upper = {segment.graph_upper().begin(), segment.graph_upper().end()},
          .upper_links = {segment.graph_upper_links().begin(), segment.graph_upper_links().end()}};
}

void SearchGraph(const Segment& segment, const std::int8_t* query, float scale, size_t effort,
                 absl::Span<const Scored> seeds, std::uint32_t part, Top& top) {
  const Walk walk(segment, query, scale);
  if (walk.documents() == 0) return;
  std::vector<std::uint64_t> seen(walk.documents() / 64 + 1);
  const auto first_time = [&](std::uint32_t document) {
    std::uint64_t& word = seen[document / 64];
    const std::uint64_t bit = std::uint64_t{1} << (document % 64);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  };
  const Near start = Descend(walk, segment.header());
  std::priority_queue<Near, std::vector<Near>, BestFirst> open;
  std::priority_queue<Near, std::vector<Near>, WorstFirst> kept;
  first_time(start.document);
  open.push(start);
  kept.push(start);
  for (const Scored& seed : seeds) {
    if (seed.part != part || seed.document >= walk.documents() || !first_time(seed.document)) {
      continue;
    }
    const Near near{walk.Score(seed.document), seed.document};
    open.push(near);
    kept.push(near);
  }
  while (kept.size() > effort) kept.pop();
  std::vector<std::uint32_t> fresh;
  while (!open.empty()) {
    const Near next = open.top();
    if (kept.size() >= effort && next.score < kept.top().score) break;
    open.pop();
    fresh.clear();
    for (const std::uint32_t neighbour : walk.Base(next.document)) {
      if (neighbour >= walk.documents() || !first_time(neighbour)) continue;
      fresh.push_back(neighbour);
      const std::int8_t* row = segment.vectors() + neighbour * segment.stride();
      for (size_t i = 0; i < segment.stride(); i += 64) __builtin_prefetch(row + i);
    }
    for (const std::uint32_t neighbour : fresh) {
      const float score = walk.Score(neighbour);
      if (kept.size() >= effort && score <= kept.top().score) continue;
      open.push({score, neighbour});
      kept.push({score, neighbour});
      if (kept.size() > effort) kept.pop();
    }
  }
  for (; !kept.empty(); kept.pop()) top.Offer({part, kept.top().document, kept.top().score});
}

}  // namespace galen::incident_history
