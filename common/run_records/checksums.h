#ifndef COMMON_RUN_RECORDS_CHECKSUMS_H_
#define COMMON_RUN_RECORDS_CHECKSUMS_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace galen::run_records {

// CRC-32C (Castagnoli), masked as TFRecord stores it (tensorflow core/lib/hash/crc32c.h).
std::uint32_t MaskedCrc32c(absl::string_view bytes);
// CRC-32 of IEEE 802.3, as zlib computes it; `before`: of the bytes before these.
std::uint32_t Crc32(absl::string_view bytes, std::uint32_t before = 0);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_CHECKSUMS_H_
