#ifndef COMMON_LOG_ANALYSIS_SCAN_LITERAL_FILTER_H_
#define COMMON_LOG_ANALYSIS_SCAN_LITERAL_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::log_scan {

// Finds occurrences of many literals in a text, ignoring case, without reading every byte: it
// samples a gram of a few bytes at every stride-th place. Each literal has enough consecutive grams
// that one of them is at a sampled place wherever the literal is (as in S. Wu and U. Manber, "A
// fast algorithm for multi-pattern searching", 1994, with fixed shifts). With literals of 12 bytes
// and more a sample is every eighth byte: several times faster than an automaton that reads each.
// Immutable and thread-safe.
class LiteralFilter {
 public:
  static constexpr std::size_t kMinSize = 5;

  // Literals shorter than kMinSize are not allowed.
  LiteralFilter() = default;
  explicit LiteralFilter(absl::Span<const std::string> literals);

  // A place of a literal at or after `from`; npos: none. No other literal lies completely between
  // `from` and this place, except one that it overlaps.
  std::size_t Find(absl::string_view text, std::size_t from) const;

  std::size_t stride() const { return stride_; }

 private:
  // A gram of a literal that may be sampled.
  struct Entry {
    std::uint64_t hash;
    // Up to eight bytes of the literal around the gram, to reject most other texts at once.
    std::uint64_t check;
    bool has_check;
    std::uint32_t literal;
    std::uint32_t offset;        // of the gram in the literal
    std::uint32_t check_offset;  // of `check` in the literal
  };

  template <std::size_t kStride>
  std::size_t FindFrom(absl::string_view text, std::size_t from) const;
  bool MayHold(std::uint64_t hash) const;
  bool MayGoOn(const char* at, std::uint64_t hash) const;
  std::size_t Confirm(absl::string_view text, std::size_t from, std::size_t at,
                      std::uint64_t hash) const;

  std::vector<std::string> literals_;  // folded
  std::size_t stride_ = 2;
  std::uint64_t multiplier_ = 0;        // makes a hash of a gram
  std::vector<std::uint32_t> bits_;     // a bit for the hash of each gram
  std::vector<std::uint32_t> goes_on_;  // a bit for the hash of each gram with the bytes after it
  std::vector<std::uint32_t> short_;    // a bit for each gram too close to the end of its literal
  std::vector<Entry> entries_;          // by hash
  std::vector<std::uint32_t> buckets_;  // first entry by the upper bits of the hash
  int bucket_shift_ = 0;
};

}  // namespace galen::log_scan

#endif  // COMMON_LOG_ANALYSIS_SCAN_LITERAL_FILTER_H_
