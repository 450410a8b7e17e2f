#ifndef COMMON_STORE_REDIS_SLOT_H_
#define COMMON_STORE_REDIS_SLOT_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace galen::store::redis {

constexpr int kSlots = 16384;

// CRC-16/XMODEM, as Redis Cluster counts slots with it
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
std::uint16_t Crc16(absl::string_view bytes);

// The hash slot of a key: of the text between its first "{" and the next "}", or of the whole key
// when that text is empty.
int SlotOf(absl::string_view key);

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_SLOT_H_
