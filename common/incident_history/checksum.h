#ifndef COMMON_INCIDENT_HISTORY_CHECKSUM_H_
#define COMMON_INCIDENT_HISTORY_CHECKSUM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace galen::incident_history {

// CRC-32C (Castagnoli) of `bytes`, continuing `crc`, which is 0 at the start. Pure.
std::uint32_t Crc32c(absl::string_view bytes, std::uint32_t crc = 0);

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_CHECKSUM_H_
