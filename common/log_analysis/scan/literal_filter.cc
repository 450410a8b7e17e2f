#include "common/log_analysis/scan/literal_filter.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "common/log_analysis/scan/ordinary_log.h"

namespace galen::log_scan {
namespace {

// Folds the case of letters. It also merges some other bytes; that causes only false candidates,
// which Confirm() rejects.
constexpr std::uint64_t kFold = 0x2020202020202020;
constexpr char kFoldByte = 0x20;

// Fibonacci hashing (Knuth, TAOCP 6.4): the upper bits are the good ones.
constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;

std::uint64_t Load(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Bits of the first table, 32 KiB: fits into the first-level cache together with the text.
constexpr int kTableLog2 = 18;
constexpr int kTableShift = 64 - kTableLog2;
// Bits of the second tables, 8 KiB each.
constexpr int kWordLog2 = 16;
constexpr int kWordShift = 64 - kWordLog2;

std::string Fold(std::string text) {
  for (char& c : text) c = static_cast<char>(c | kFoldByte);
  return text;
}

bool EqualsFolded(const char* text, const std::string& folded) {
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= folded.size(); i += sizeof(std::uint64_t)) {
    if ((Load(text + i) | kFold) != Load(folded.data() + i)) return false;
  }
  for (; i < folded.size(); ++i) {
    if (static_cast<char>(text[i] | kFoldByte) != folded[i]) return false;
  }
  return true;
}

int CeilLog2(std::size_t n) {
  int bits = 0;
  while ((std::size_t{1} << bits) < n) ++bits;
  return bits;
}

}  // namespace

LiteralFilter::LiteralFilter(absl::Span<const std::string> literals) {
  for (const std::string& literal : literals) literals_.push_back(Fold(literal));
  std::sort(literals_.begin(), literals_.end());
  literals_.erase(std::unique(literals_.begin(), literals_.end()), literals_.end());
  if (literals_.empty()) return;
  const std::size_t shortest =
      std::min_element(literals_.begin(), literals_.end(), [](const auto& a, const auto& b) {
        return a.size() < b.size();
      })->size();
  // A gram of four bytes or more is rare enough to justify a comparison. A literal of `shortest`
  // bytes has shortest - gram + 1 grams, and one in this many places is sampled.
  constexpr std::size_t kGram = 4;
  for (const std::size_t stride : {2, 4, 8, 16}) {
    if (shortest >= stride + kGram - 1) stride_ = stride;
  }
  const std::size_t gram_size = std::min(shortest - stride_ + 1, sizeof(std::uint64_t));
  // Shifted, so that the product does not depend on the bytes after the gram.
  multiplier_ = kMultiplier << (8 * (sizeof(std::uint64_t) - gram_size));
  const auto grams = [&](absl::string_view text) {
    std::string padded(text);
    padded.resize(padded.size() + sizeof(std::uint64_t));
    std::vector<std::uint64_t> result;
    for (std::size_t i = 0; i + gram_size <= text.size(); ++i) {
      result.push_back((Load(padded.data() + i) | kFold) * multiplier_);
    }
    return result;
  };
  absl::flat_hash_map<std::uint64_t, int> ordinary;
  for (const std::uint64_t gram : grams(OrdinaryLog())) ++ordinary[gram];
  for (std::size_t n = 0; n < literals_.size(); ++n) {
    // Any stride_ grams in a row suffice; take those that are rarest in ordinary logs.
    const std::vector<std::uint64_t> all = grams(literals_[n]);
    std::vector<int> costs;
    for (const std::uint64_t gram : all) {
      const auto found = ordinary.find(gram);
      costs.push_back(found != ordinary.end() ? found->second : 0);
    }
    std::size_t best = 0;
    int best_cost = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i + stride_ <= all.size(); ++i) {
      const auto first = costs.begin() + static_cast<std::ptrdiff_t>(i);
      const int cost = std::accumulate(first, first + static_cast<std::ptrdiff_t>(stride_), 0);
      if (cost >= best_cost) continue;
      best = i;
      best_cost = cost;
    }
    const std::string& literal = literals_[n];
    for (std::size_t offset = best; offset < best + stride_; ++offset) {
      Entry entry = {};
      entry.hash = all[offset];
      entry.literal = static_cast<std::uint32_t>(n);
      entry.offset = static_cast<std::uint32_t>(offset);
      if (literal.size() >= sizeof(std::uint64_t)) {
        const std::size_t check = std::min(offset, literal.size() - sizeof(std::uint64_t));
        entry.check_offset = static_cast<std::uint32_t>(check);
        entry.has_check = true;
        entry.check = Load(literal.data() + check);
      }
      entries_.push_back(entry);
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.hash, a.literal, a.offset) < std::tie(b.hash, b.literal, b.offset);
  });
  bits_.assign((std::size_t{1} << kTableLog2) / 32, 0);
  for (const Entry& entry : entries_) {
    const auto bit = static_cast<std::uint32_t>(entry.hash >> kTableShift);
    bits_[bit / 32] |= std::uint32_t{1} << (bit % 32);
  }
  goes_on_.assign((std::size_t{1} << kWordLog2) / 32, 0);
  short_.assign((std::size_t{1} << kWordLog2) / 32, 0);
  for (const Entry& entry : entries_) {
    const std::string& literal = literals_[entry.literal];
    const bool whole_word = entry.offset + sizeof(std::uint64_t) <= literal.size();
    const std::uint64_t hash =
        whole_word ? Load(literal.data() + entry.offset) * kMultiplier : entry.hash;
    const auto bit = static_cast<std::uint32_t>(hash >> kWordShift);
    (whole_word ? goes_on_ : short_)[bit / 32] |= std::uint32_t{1} << (bit % 32);
  }
  // Entries are sorted by hash, so its upper bits give the first candidate.
  const int log2 = std::max(CeilLog2(entries_.size()), 1);
  bucket_shift_ = 64 - log2;
  buckets_.assign((std::size_t{1} << log2) + 1, 0);
  for (const Entry& entry : entries_) ++buckets_[(entry.hash >> bucket_shift_) + 1];
  for (std::size_t i = 1; i < buckets_.size(); ++i) buckets_[i] += buckets_[i - 1];
}

inline bool LiteralFilter::MayHold(std::uint64_t hash) const {
  const auto bit = static_cast<std::uint32_t>(hash >> kTableShift);
  return ((bits_.data()[bit / 32] >> (bit % 32)) & 1) != 0;
}

// Whether the eight bytes at `at` may begin with a gram of that hash and continue like its literal.
inline bool LiteralFilter::MayGoOn(const char* at, std::uint64_t hash) const {
  const auto word = static_cast<std::uint32_t>(((Load(at) | kFold) * kMultiplier) >> kWordShift);
  const auto gram = static_cast<std::uint32_t>(hash >> kWordShift);
  return (((goes_on_.data()[word / 32] >> (word % 32)) |
           (short_.data()[gram / 32] >> (gram % 32))) &
          1) != 0;
}

// The place, at `from` or later, of a literal whose gram sampled at `at` has that hash.
std::size_t LiteralFilter::Confirm(absl::string_view text, std::size_t from, std::size_t at,
                                   std::uint64_t hash) const {
  const std::uint64_t bucket = hash >> bucket_shift_;
  for (std::uint32_t i = buckets_[bucket]; i < buckets_[bucket + 1]; ++i) {
    const Entry& entry = entries_[i];
    if (entry.hash != hash || at < from + entry.offset) continue;
    const std::size_t begin = at - entry.offset;
    const std::string& literal = literals_[entry.literal];
    if (begin + literal.size() > text.size()) continue;
    if (entry.has_check &&
        (Load(text.data() + begin + entry.check_offset) | kFold) != entry.check) {
      continue;
    }
    if (EqualsFolded(text.data() + begin, literal)) return begin;
  }
  return absl::string_view::npos;
}

template <std::size_t kStride>
std::size_t LiteralFilter::FindFrom(absl::string_view text, std::size_t from) const {
  constexpr std::size_t kAhead = 4;  // samples without a branch
  const std::uint64_t multiplier = multiplier_;
  const auto hash_at = [multiplier](const char* at) { return (Load(at) | kFold) * multiplier; };
  const std::uint32_t* const bits = bits_.data();
  const auto may_hold = [&](const char* at) {
    const auto bit = static_cast<std::uint32_t>(hash_at(at) >> kTableShift);
    return (bits[bit / 32] >> (bit % 32)) & 1;
  };
  std::size_t at = from;
  for (; at + kStride * (kAhead - 1) + sizeof(std::uint64_t) <= text.size();
       at += kAhead * kStride) {
    const char* const here = text.data() + at;
    const std::uint32_t any = may_hold(here) | may_hold(here + kStride) |
                              may_hold(here + 2 * kStride) | may_hold(here + 3 * kStride);
    if (any == 0) continue;
    for (std::size_t k = 0; k < kAhead; ++k) {
      const std::uint64_t hash = hash_at(here + k * kStride);
      if (!MayHold(hash) || !MayGoOn(here + k * kStride, hash)) continue;
      const std::size_t found = Confirm(text, from, at + k * kStride, hash);
      if (found != absl::string_view::npos) return found;
    }
  }
  // Too close to the end to load whole words.
  for (; at < text.size(); at += kStride) {
    char padded[sizeof(std::uint64_t)] = {};
    std::memcpy(padded, text.data() + at, std::min(sizeof(padded), text.size() - at));
    const std::uint64_t hash = hash_at(padded);
    if (!MayHold(hash)) continue;
    const std::size_t found = Confirm(text, from, at, hash);
    if (found != absl::string_view::npos) return found;
  }
  return absl::string_view::npos;
}

std::size_t LiteralFilter::Find(absl::string_view text, std::size_t from) const {
  if (literals_.empty()) return absl::string_view::npos;
  switch (stride_) {
    case 2:
      return FindFrom<2>(text, from);
    case 4:
      return FindFrom<4>(text, from);
    case 8:
      return FindFrom<8>(text, from);
    default:
      return FindFrom<16>(text, from);
  }
}

}  // namespace galen::log_scan
