#include "common/store/redis/slot.h"

namespace galen::store::redis {

std::uint16_t Crc16(absl::string_view bytes) {
  std::uint32_t crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    crc &= 0xffff;
  }
  return static_cast<std::uint16_t>(crc);
}

int SlotOf(absl::string_view key) {
  if (const std::size_t open = key.find('{'); open != absl::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != absl::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return Crc16(key) % kSlots;
}

}  // namespace galen::store::redis
