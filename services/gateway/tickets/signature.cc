#include "services/gateway/tickets/signature.h"

#include <openssl/hmac.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace galen::gateway::tickets {
namespace {

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

absl::string_view Text(const std::array<unsigned char, EVP_MAX_MD_SIZE>& bytes, unsigned size) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

absl::StatusOr<std::string> StandardSignature(absl::string_view secret, absl::string_view id,
                                              absl::string_view timestamp, absl::string_view body) {
  std::string key;
  if (!absl::ConsumePrefix(&secret, "whsec_") || !absl::Base64Unescape(secret, &key) ||
      key.size() < 24 || key.size() > 64) {
    return absl::InvalidArgumentError(
        "the secret is not \"whsec_\" and 24 to 64 bytes in base64 (Standard Webhooks 1.0.0)");
  }
  const std::string text = absl::StrCat(id, ".", timestamp, ".", body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), Bytes(text), text.size(), mac.data(),
       &size);
  return absl::StrCat("v1,", absl::Base64Escape(Text(mac, size)));
}

}  // namespace galen::gateway::tickets
