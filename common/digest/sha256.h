#ifndef COMMON_DIGEST_SHA256_H_
#define COMMON_DIGEST_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen {

// 64 lowercase hexadecimal digits.
std::string Sha256Hex(absl::string_view data);

}  // namespace galen

#endif  // COMMON_DIGEST_SHA256_H_
