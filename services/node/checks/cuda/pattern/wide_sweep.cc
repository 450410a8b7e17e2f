#include "services/node/checks/cuda/pattern/wide_sweep.h"

#include "services/node/checks/cuda/pattern/pattern_words.h"

#ifdef __AVX2__

#include <immintrin.h>

namespace galen::node::cuda {
namespace {

// The words of a pattern, eight at a time from a 32-byte boundary on.
template <unsigned kFamily>
struct Words {
  __m256i state;
  __m256i flip;

  Words(const unsigned* memory, unsigned pattern, unsigned seed)
      : flip(_mm256_set1_epi32((pattern & kInverted) != 0 ? -1 : 0)) {
    const auto address = reinterpret_cast<unsigned long long>(memory);
    if constexpr (kFamily == kSolid) {
      state = flip;
    } else if constexpr (kFamily == kChecker) {
      state = _mm256_xor_si256(_mm256_set1_epi32(0x55555555), flip);
    } else if constexpr (kFamily == kAddress) {
      state = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<long long>(address)),
                               _mm256_setr_epi64x(0, 8, 16, 24));
    } else {
      const __m256i numbers = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(address >> 2)),
                                               _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      state = _mm256_add_epi32(
          _mm256_mullo_epi32(numbers, _mm256_set1_epi32(static_cast<int>(kHashStep))),
          _mm256_set1_epi32(static_cast<int>(seed)));
    }
  }

  __m256i Next() {
    if constexpr (kFamily == kSolid || kFamily == kChecker) return state;
    const __m256i now = state;
    if constexpr (kFamily == kAddress) {
      state = _mm256_add_epi64(state, _mm256_set1_epi64x(32));
      return _mm256_xor_si256(now, flip);
    } else {
      state = _mm256_add_epi32(state, _mm256_set1_epi32(static_cast<int>(8U * kHashStep)));
      __m256i x = _mm256_xor_si256(now, _mm256_srli_epi32(now, 15));
      x = _mm256_mullo_epi32(x, _mm256_set1_epi32(static_cast<int>(kHashFactor)));
      x = _mm256_xor_si256(x, _mm256_srli_epi32(x, 13));
      return _mm256_xor_si256(x, flip);
    }
  }
};

template <unsigned kFamily>
void Write(unsigned* memory, unsigned long long bytes, unsigned pattern, unsigned seed) {
  Words<kFamily> words(memory, pattern, seed);
  auto* at = reinterpret_cast<__m256i*>(memory);
  // Past the caches: what a sweep writes is next read after all of the rest was written.
  for (const auto* const end = at + bytes / 32; at < end; at += 2) {
    _mm256_stream_si256(at, words.Next());
    _mm256_stream_si256(at + 1, words.Next());
  }
  _mm_sfence();
}

template <unsigned kFamily>
unsigned long long Check(unsigned* memory, unsigned long long bytes, unsigned pattern,
                         unsigned seed, bool invert) {
  Words<kFamily> words(memory, pattern, seed);
  const __m256i ones = _mm256_set1_epi32(-1);
  auto* at = reinterpret_cast<__m256i*>(memory);
  const auto* const begin = at;
  for (const auto* const end = at + bytes / 32; at < end; at += 2) {
    const __m256i first = words.Next();
    const __m256i second = words.Next();
    const __m256i wrong = _mm256_or_si256(_mm256_xor_si256(_mm256_load_si256(at), first),
                                          _mm256_xor_si256(_mm256_load_si256(at + 1), second));
    if (!_mm256_testz_si256(wrong, wrong)) break;
    if (invert) {
      _mm256_stream_si256(at, _mm256_xor_si256(first, ones));
      _mm256_stream_si256(at + 1, _mm256_xor_si256(second, ones));
    }
  }
  if (invert) _mm_sfence();
  return static_cast<unsigned long long>(at - begin) * 32;
}

}  // namespace

bool WideSweepWorks() { return __builtin_cpu_supports("avx2") != 0; }

void WideWrite(unsigned* memory, unsigned long long bytes, unsigned pattern, unsigned seed) {
  switch (pattern & (kInverted - 1)) {
    case kSolid:
      return Write<kSolid>(memory, bytes, pattern, seed);
    case kChecker:
      return Write<kChecker>(memory, bytes, pattern, seed);
    case kAddress:
      return Write<kAddress>(memory, bytes, pattern, seed);
    default:
      return Write<kRandom>(memory, bytes, pattern, seed);
  }
}

unsigned long long WideCheck(unsigned* memory, unsigned long long bytes, unsigned pattern,
                             unsigned seed, bool invert) {
  switch (pattern & (kInverted - 1)) {
    case kSolid:
      return Check<kSolid>(memory, bytes, pattern, seed, invert);
    case kChecker:
      return Check<kChecker>(memory, bytes, pattern, seed, invert);
    case kAddress:
      return Check<kAddress>(memory, bytes, pattern, seed, invert);
    default:
      return Check<kRandom>(memory, bytes, pattern, seed, invert);
  }
}

}  // namespace galen::node::cuda

#else

namespace galen::node::cuda {

bool WideSweepWorks() { return false; }
void WideWrite(unsigned*, unsigned long long, unsigned, unsigned) {}
unsigned long long WideCheck(unsigned*, unsigned long long, unsigned, unsigned, bool) { return 0; }

}  // namespace galen::node::cuda

#endif
