#include "common/crypto/sha256.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "absl/strings/escaping.h"

namespace galen {

std::string Sha256Hex(absl::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned size = 0;
  EVP_Digest(data.data(), data.size(), hash.data(), &size, EVP_sha256(), nullptr);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(hash.data()), size));
}

std::string HmacSha256(absl::string_view key, absl::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(data.data()), data.size(), mac.data(), &size);
  return {reinterpret_cast<const char*>(mac.data()), size};
}

}  // namespace galen
