#ifndef COMMON_INCIDENT_HISTORY_DOT_H_
#define COMMON_INCIDENT_HISTORY_DOT_H_

#include <cstddef>
#include <cstdint>

namespace galen::incident_history {

// Vectors are rows of a multiple of this many bytes, padded with zeros.
inline constexpr size_t kRowBytes = 64;
constexpr size_t Stride(size_t dimensions) {
  return (dimensions + kRowBytes - 1) / kRowBytes * kRowBytes;
}

// How scalar products are computed: what this processor has, fastest first.
enum class DotKind { kPortable, kAvx2, kAvx512Vnni };
DotKind BestDot();
bool DotSupported(DotKind kind);

// out[i] = scalar product of `query` and row i, for `count` rows of `stride` bytes. `stride` is a
// multiple of kRowBytes, at most 4096; neither side may hold -128. Every kind gives the same
// numbers. Pure.
void DotRows(const std::int8_t* query, const std::int8_t* rows, size_t count, size_t stride,
             std::int32_t* out, DotKind kind);
inline void DotRows(const std::int8_t* query, const std::int8_t* rows, size_t count, size_t stride,
                    std::int32_t* out) {
  static const DotKind kBest = BestDot();
  DotRows(query, rows, count, stride, out, kBest);
}

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_DOT_H_
