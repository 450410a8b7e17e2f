#include "common/log_analysis/scan/byte_scan.h"

#include <algorithm>
#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace galen::log_scan {
namespace {

constexpr char kEscape = '\x1b';

void LookAtEach(absl::string_view text, BlockBytes& bytes) {
  for (const char c : text) {
    bytes.newlines += c == '\n' ? 1 : 0;
    bytes.needs_cleaning |= c == kEscape || c == '\r' || c == '\0';
  }
}

#ifdef __x86_64__
// Takes from `text` what fits, 64 bytes at a time.
__attribute__((target("avx2"))) void LookAtWords(absl::string_view& text, BlockBytes& bytes) {
  const __m256i newline = _mm256_set1_epi8('\n');
  const __m256i escape = _mm256_set1_epi8(kEscape);
  const __m256i carriage = _mm256_set1_epi8('\r');
  const __m256i zero = _mm256_setzero_si256();
  constexpr std::size_t kStep = 2 * sizeof(__m256i);
  while (text.size() >= kStep) {
    // Two bytes of each lane at a step, and a lane's count holds up to 255.
    const std::size_t steps = std::min<std::size_t>(text.size() / kStep, 255 / 2);
    const auto* at = reinterpret_cast<const __m256i*>(text.data());
    __m256i counts = zero;
    __m256i odd = zero;
    for (std::size_t i = 0; i < steps; ++i, at += 2) {
      for (int k = 0; k < 2; ++k) {
        const __m256i word = _mm256_loadu_si256(at + k);
        counts = _mm256_sub_epi8(counts, _mm256_cmpeq_epi8(word, newline));
        // The least of a byte and that byte with the bits of ESC or CR turned is 0 for each.
        const __m256i least = _mm256_min_epu8(
            word,
            _mm256_min_epu8(_mm256_xor_si256(word, escape), _mm256_xor_si256(word, carriage)));
        odd = _mm256_or_si256(odd, _mm256_cmpeq_epi8(least, zero));
      }
    }
    const __m256i sums = _mm256_sad_epu8(counts, zero);
    bytes.newlines +=
        static_cast<std::size_t>(_mm256_extract_epi64(sums, 0) + _mm256_extract_epi64(sums, 1) +
                                 _mm256_extract_epi64(sums, 2) + _mm256_extract_epi64(sums, 3));
    bytes.needs_cleaning |= _mm256_movemask_epi8(odd) != 0;
    text.remove_prefix(steps * kStep);
  }
}
#endif

}  // namespace

BlockBytes LookAtBytes(absl::string_view block) {
  BlockBytes bytes;
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) LookAtWords(block, bytes);
#endif
  LookAtEach(block, bytes);
  return bytes;
}

std::size_t CountNewlines(absl::string_view text) { return LookAtBytes(text).newlines; }

}  // namespace galen::log_scan
