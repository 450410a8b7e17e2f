#include "common/incident_history/checksum.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace galen::incident_history {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
    table[i] = crc;
  }
  return table;
}

std::uint32_t Portable(absl::string_view bytes, std::uint32_t crc) {
  static constexpr std::array<std::uint32_t, 256> kTable = MakeTable();
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 255];
  }
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t Sse42(absl::string_view bytes, std::uint32_t crc) {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    wide = _mm_crc32_u64(wide, word);
    bytes.remove_prefix(8);
  }
  return Portable(bytes, static_cast<std::uint32_t>(wide));
}
#endif

}  // namespace

std::uint32_t Crc32c(absl::string_view bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) return ~Sse42(bytes, ~crc);
#endif
  return ~Portable(bytes, ~crc);
}

}  // namespace galen::incident_history
