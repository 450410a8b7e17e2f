#ifndef COMMON_LOG_ANALYSIS_TEMPLATES_MINER_H_
#define COMMON_LOG_ANALYSIS_TEMPLATES_MINER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "common/log_analysis/templates/shape.h"

namespace galen::log_templates {

// He, Zhu, Zheng, Lyu: Drain: An Online Log Parsing Approach with Fixed Depth Tree, ICWS 2017.
struct MinerOptions {
  // Fraction of a line's tokens that must equal the template's (the paper's st, 0.3 to 0.5
  // depending on the system; Drain3's default).
  double similarity = 0.4;
  // Distinct first tokens per line length (the paper's maxChild, 100).
  std::size_t most_keys = 100;
  // A new template replaces the least recently used one (max_clusters of Drain3's example).
  std::size_t most_templates = 1024;
  // Templates that a line is compared with at most.
  std::size_t most_compared = 64;
};

// Groups lines by template, online: the tree of Drain, over masked lines (MaskToken()). Lines of
// one template have the same number of tokens and usually the same first token without a mask. The
// shapes of recent lines are kept as well, so that a line that differs from an earlier one only in
// masked parts needs no comparison.
//
// Memory is bounded by the options: a hundred kilobytes and at most about 10 KiB per template, for
// any lines. The same lines in the same order give the same templates. Not thread-safe: one per
// thread.
class Miner {
 public:
  // A template for output.
  struct Template {
    std::uint64_t id = 0;  // from 1 on, in the order of the first lines; never reused
    std::int64_t count = 0;
    std::string text;  // tokens separated by one space; "<*>" for variable parts
  };
  static constexpr std::uint64_t kNone = 0;

  explicit Miner(MinerOptions options);

  // Returns the template of the line. Never kNone.
  std::uint64_t Add(absl::string_view line);
  // The template that the line fits without a change of the template; kNone: there is none, or it
  // is no longer kept. Changes nothing.
  std::uint64_t Find(absl::string_view line) const;

  // The kept templates, in the order of their first lines.
  std::vector<Template> Templates() const;
  // Whether the template is still kept.
  bool Has(std::uint64_t id) const { return by_id_.contains(id); }
  std::size_t size() const { return by_id_.size(); }
  // Number of dropped templates.
  std::int64_t dropped() const { return dropped_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNoIndex = std::numeric_limits<Index>::max();

  struct Kept {
    std::uint64_t id = kNone;
    std::int64_t count = 0;
    std::uint64_t leaf = 0;
    std::vector<Token> tokens;
    std::string text;  // tokens of the first line, separated by one space
    // Neighbours in the order of use.
    Index older = kNoIndex;
    Index newer = kNoIndex;
  };
  struct Known {
    std::uint64_t hash = 0;
    std::uint64_t id = kNone;
    Index index = kNoIndex;
  };

  static bool Matches(const Kept& kept, const Shape& shape);
  bool IsOf(const Known& known, const Shape& shape) const;
  static std::string TextOf(const Kept& kept);
  std::uint64_t LeafOf(const Shape& shape) const;
  // The most similar template; kNoIndex: none is similar enough. Without `changed` only templates
  // that fit without a change.
  Index Closest(std::uint64_t leaf, const Shape& shape, bool changed) const;
  Index Make(const Shape& shape, absl::string_view line);
  void Drop(Index index);
  void Use(Index index);
  void Unlink(Index index);

  const MinerOptions options_;
  std::vector<Kept> kept_;
  std::vector<Index> free_;
  std::vector<Known> known_;  // by hash, one for each place
  absl::flat_hash_map<std::uint64_t, std::vector<Index>> leaves_;
  absl::flat_hash_map<std::size_t, std::size_t> keys_;  // leaves by length
  absl::flat_hash_map<std::uint64_t, Index> by_id_;
  Shape shape_;
  std::uint64_t next_id_ = 1;
  std::int64_t dropped_ = 0;
  Index oldest_ = kNoIndex;
  Index newest_ = kNoIndex;
};

}  // namespace galen::log_templates

#endif  // COMMON_LOG_ANALYSIS_TEMPLATES_MINER_H_
