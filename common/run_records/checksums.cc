#include "common/run_records/checksums.h"

#include <array>

namespace galen::run_records {
namespace {

using Remainders = std::array<std::uint32_t, 256>;

// The remainder of each byte, by a polynomial with its bits in reverse.
constexpr Remainders RemaindersOf(std::uint32_t polynomial) {
  Remainders remainders{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder & 1) != 0 ? remainder >> 1 ^ polynomial : remainder >> 1;
    }
    remainders[byte] = remainder;
  }
  return remainders;
}

std::uint32_t RemainderOf(const Remainders& remainders, absl::string_view bytes,
                          std::uint32_t before) {
  std::uint32_t remainder = ~before;
  for (const char c : bytes) {
    remainder = remainder >> 8 ^ remainders[(remainder ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~remainder;
}

}  // namespace

std::uint32_t MaskedCrc32c(absl::string_view bytes) {
  static constexpr Remainders kCastagnoli = RemaindersOf(0x82f63b78);
  const std::uint32_t crc = RemainderOf(kCastagnoli, bytes, 0);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

std::uint32_t Crc32(absl::string_view bytes, std::uint32_t before) {
  static constexpr Remainders kIeee = RemaindersOf(0xedb88320);
  return RemainderOf(kIeee, bytes, before);
}

}  // namespace galen::run_records
