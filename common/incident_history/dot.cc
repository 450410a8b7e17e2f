#include "common/incident_history/dot.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <initializer_list>

namespace galen::incident_history {
namespace {

void Portable(const std::int8_t* query, const std::int8_t* rows, size_t count, size_t stride,
              std::int32_t* out) {
  for (size_t row = 0; row < count; ++row, rows += stride) {
    std::int32_t sum = 0;
    for (size_t i = 0; i < stride; ++i) {
      sum += static_cast<std::int32_t>(query[i]) * static_cast<std::int32_t>(rows[i]);
    }
    out[row] = sum;
  }
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) inline std::int32_t Sum(__m256i eight) {
  const __m128i four =
      _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

// The instruction multiplies unsigned by signed bytes: the query goes in without its signs, and the
// row takes them over. Two products fit 16 bits: 2 * 127 * 127 < 32768.
__attribute__((target("avx2"))) void Avx2(const std::int8_t* query, const std::int8_t* rows,
                                          size_t count, size_t stride, std::int32_t* out) {
  const __m256i ones = _mm256_set1_epi16(1);
  for (size_t row = 0; row < count; ++row, rows += stride) {
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < stride; i += 32) {
      const __m256i q = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(query + i));
      const __m256i r = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i));
      const __m256i products = _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(r, q));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(products, ones));
    }
    out[row] = Sum(sum);
  }
}

// The query goes in raised by 128, to be unsigned, and 128 times the row's sum comes off again.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void Avx512Vnni(
    const std::int8_t* query, const std::int8_t* rows, size_t count, size_t stride,
    std::int32_t* out) {
  const __m512i raise = _mm512_set1_epi8(static_cast<char>(0x80));
  for (size_t row = 0; row < count; ++row, rows += stride) {
    __m512i sum = _mm512_setzero_si512();
    __m512i excess = _mm512_setzero_si512();
    for (size_t i = 0; i < stride; i += 64) {
      const __m512i q = _mm512_xor_si512(_mm512_loadu_si512(query + i), raise);
      const __m512i r = _mm512_loadu_si512(rows + i);
      sum = _mm512_dpbusd_epi32(sum, q, r);
      excess = _mm512_dpbusd_epi32(excess, raise, r);
    }
    const __m512i all = _mm512_sub_epi32(sum, excess);
    // Not _mm512_reduce_add_epi32: g++ 12 warns of its undefined half.
    out[row] = Sum(_mm256_add_epi32(_mm512_maskz_extracti64x4_epi64(255, all, 0),
                                    _mm512_maskz_extracti64x4_epi64(255, all, 1)));
  }
}

#endif

}  // namespace

bool DotSupported(DotKind kind) {
#if defined(__x86_64__)
  if (kind == DotKind::kAvx2) return __builtin_cpu_supports("avx2") != 0;
  if (kind == DotKind::kAvx512Vnni) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  }
#endif
  return kind == DotKind::kPortable;
}

DotKind BestDot() {
  for (const DotKind kind : {DotKind::kAvx512Vnni, DotKind::kAvx2}) {
    if (DotSupported(kind)) return kind;
  }
  return DotKind::kPortable;
}

void DotRows(const std::int8_t* query, const std::int8_t* rows, size_t count, size_t stride,
             std::int32_t* out, DotKind kind) {
#if defined(__x86_64__)
  if (kind == DotKind::kAvx512Vnni) return Avx512Vnni(query, rows, count, stride, out);
  if (kind == DotKind::kAvx2) return Avx2(query, rows, count, stride, out);
#else
  (void)kind;
#endif
  Portable(query, rows, count, stride, out);
}

}  // namespace galen::incident_history
