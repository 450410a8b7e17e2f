#ifndef COMMON_CRYPTO_SHA256_H_
#define COMMON_CRYPTO_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen {

// 64 lowercase hexadecimal digits.
std::string Sha256Hex(absl::string_view data);

// HMAC-SHA-256 (RFC 2104), 32 bytes.
std::string HmacSha256(absl::string_view key, absl::string_view data);

}  // namespace galen

#endif  // COMMON_CRYPTO_SHA256_H_
