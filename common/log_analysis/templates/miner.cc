#include "common/log_analysis/templates/miner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/log_analysis/templates/mask.h"

namespace galen::log_templates {
namespace {

// Number of slots for shapes; a power of two.
constexpr std::size_t kKnown = 4096;

std::uint64_t LeafKey(std::size_t size, Token key) { return (key & ~std::uint64_t{0xff}) ^ size; }

}  // namespace

Miner::Miner(MinerOptions options) : options_(options), known_(kKnown) {}

bool Miner::Matches(const Kept& kept, const Shape& shape) {
  if (kept.tokens.size() != shape.size) return false;
  for (std::size_t i = 0; i < shape.size; ++i) {
    if (kept.tokens[i] != shape.tokens[i] && kept.tokens[i] != kAnyToken) return false;
  }
  return true;
}

bool Miner::IsOf(const Known& known, const Shape& shape) const {
  return known.id != kNone && known.hash == shape.hash && kept_[known.index].id == known.id &&
         Matches(kept_[known.index], shape);
}

// One leaf per length and first token without a mask; if there are too many, one for the rest.
std::uint64_t Miner::LeafOf(const Shape& shape) const {
  const std::uint64_t own = LeafKey(shape.size, shape.key);
  if (leaves_.contains(own)) return own;
  const auto keys = keys_.find(shape.size);
  if (keys == keys_.end() || keys->second + 1 < options_.most_keys) return own;
  return LeafKey(shape.size, kAnyToken);
}

Miner::Index Miner::Closest(std::uint64_t leaf, const Shape& shape, bool changed) const {
  const auto found = leaves_.find(leaf);
  if (found == leaves_.end()) return kNoIndex;
  Index best = kNoIndex;
  double most = 0;
  std::size_t most_any = 0;
  for (const Index index : found->second) {
    if (!changed && !Matches(kept_[index], shape)) continue;
    const std::vector<Token>& tokens = kept_[index].tokens;
    std::size_t same = 0;
    std::size_t any = 0;
    std::size_t both_any = 0;
    for (std::size_t i = 0; i < shape.size; ++i) {
      same += static_cast<std::size_t>(tokens[i] == shape.tokens[i]);
      any += static_cast<std::size_t>(tokens[i] == kAnyToken);
      both_any += static_cast<std::size_t>(tokens[i] == kAnyToken && shape.tokens[i] == kAnyToken);
    }
    // Tokens that are masked in both do not count.
    const double similar = shape.size == both_any ? 1
                                                  : static_cast<double>(same - both_any) /
                                                        static_cast<double>(shape.size - both_any);
    if (best != kNoIndex && (similar < most || (similar == most && any <= most_any))) continue;
    best = index;
    most = similar;
    most_any = any;
  }
  if (best == kNoIndex || (most < options_.similarity && !Matches(kept_[best], shape))) {
    return kNoIndex;
  }
  return best;
}

std::uint64_t Miner::Add(absl::string_view line) {
  ShapeOf(line, shape_);
  Known& known = known_[shape_.hash % kKnown];
  Index index = kNoIndex;
  if (IsOf(known, shape_)) {
    index = known.index;
  } else {
    const std::uint64_t leaf = LeafOf(shape_);
    index = Closest(leaf, shape_, true);
    if (index == kNoIndex) {
      index = Make(shape_, line);
    } else {
      std::vector<Token>& tokens = kept_[index].tokens;
      for (std::size_t i = 0; i < shape_.size; ++i) {
        if (tokens[i] != shape_.tokens[i]) tokens[i] = kAnyToken;
      }
    }
    known = {shape_.hash, kept_[index].id, index};
  }
  Use(index);
  ++kept_[index].count;
  return kept_[index].id;
}

std::uint64_t Miner::Find(absl::string_view line) const {
  Shape shape;
  ShapeOf(line, shape);
  const Known& known = known_[shape.hash % kKnown];
  Index index = known.index;
  if (!IsOf(known, shape)) {
    index = Closest(LeafOf(shape), shape, false);
  }
  return index == kNoIndex ? kNone : kept_[index].id;
}

Miner::Index Miner::Make(const Shape& shape, absl::string_view line) {
  if (by_id_.size() >= std::max<std::size_t>(1, options_.most_templates)) Drop(oldest_);
  // The drop may have freed a key.
  const std::uint64_t leaf = LeafOf(shape);
  std::vector<Index>& of_leaf = leaves_[leaf];
  if (of_leaf.empty()) {
    ++keys_[shape.size];
  } else if (of_leaf.size() >= std::max<std::size_t>(1, options_.most_compared)) {
    // Drops the first template of the leaf, even if it was used recently.
    Drop(of_leaf.front());
    return Make(shape, line);
  }
  Index index = 0;
  if (free_.empty()) {
    index = static_cast<Index>(kept_.size());
    kept_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Kept& kept = kept_[index];
  kept.id = next_id_++;
  kept.count = 0;
  kept.leaf = leaf;
  kept.tokens.assign(shape.tokens.begin(),
                     shape.tokens.begin() + static_cast<std::ptrdiff_t>(shape.size));
  kept.text.clear();
  AppendMasked(line, kept.text);
  by_id_[kept.id] = index;
  of_leaf.push_back(index);
  kept.older = kept.newer = kNoIndex;
  return index;
}

void Miner::Drop(Index index) {
  Kept& kept = kept_[index];
  const auto leaf = leaves_.find(kept.leaf);
  leaf->second.erase(std::find(leaf->second.begin(), leaf->second.end(), index));
  if (leaf->second.empty()) {
    leaves_.erase(leaf);
    const auto keys = keys_.find(kept.tokens.size());
    if (--keys->second == 0) keys_.erase(keys);
  }
  by_id_.erase(kept.id);
  Unlink(index);
  kept = Kept{};
  free_.push_back(index);
  ++dropped_;
}

void Miner::Unlink(Index index) {
  Kept& kept = kept_[index];
  if (kept.older != kNoIndex) kept_[kept.older].newer = kept.newer;
  if (kept.newer != kNoIndex) kept_[kept.newer].older = kept.older;
  if (oldest_ == index) oldest_ = kept.newer;
  if (newest_ == index) newest_ = kept.older;
  kept.older = kept.newer = kNoIndex;
}

void Miner::Use(Index index) {
  if (newest_ == index) return;
  Unlink(index);
  kept_[index].older = newest_;
  if (newest_ != kNoIndex) kept_[newest_].newer = index;
  newest_ = index;
  if (oldest_ == kNoIndex) oldest_ = index;
}

std::string Miner::TextOf(const Kept& kept) {
  std::string text;
  std::size_t i = 0;
  for (const absl::string_view token : absl::StrSplit(kept.text, ' ')) {
    if (i > 0) text += ' ';
    absl::StrAppend(&text, i < kept.tokens.size() && kept.tokens[i] == kAnyToken ? kMask : token);
    ++i;
  }
  return text;
}

std::vector<Miner::Template> Miner::Templates() const {
  std::vector<Template> templates;
  templates.reserve(by_id_.size());
  for (const auto& [id, index] : by_id_) {
    templates.push_back({id, kept_[index].count, TextOf(kept_[index])});
  }
  std::sort(templates.begin(), templates.end(),
            [](const Template& a, const Template& b) { return a.id < b.id; });
  return templates;
}

}  // namespace galen::log_templates
