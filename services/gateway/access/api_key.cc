#include "services/gateway/access/api_key.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace galen::gateway {
namespace {

constexpr absl::string_view kPrefix = "galen";
constexpr std::size_t kIdBytes = 6;
constexpr std::size_t kSecretBytes = 32;

// CRC-32 as in IEEE 802.3, the one of gzip.
std::uint32_t Crc32(absl::string_view text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? std::uint32_t{0xEDB88320} : 0);
    }
  }
  return ~crc;
}

bool IsHex(absl::string_view text, std::size_t bytes) {
  return text.size() == 2 * bytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

absl::StatusOr<KeyText> NewKeyText() {
  std::array<unsigned char, kIdBytes + kSecretBytes> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
    return absl::InternalError("the system has no random numbers for a key");
  }
  const absl::string_view bytes(reinterpret_cast<const char*>(random.data()), random.size());
  return KeyText{absl::BytesToHexString(bytes.substr(0, kIdBytes)),
                 absl::BytesToHexString(bytes.substr(kIdBytes))};
}

std::string FormatKey(const KeyText& key) {
  const std::string checked = absl::StrCat(kPrefix, "_", key.id, "_", key.secret);
  return absl::StrCat(checked, "_", absl::StrFormat("%08x", Crc32(checked)));
}

std::optional<KeyText> ParseKey(absl::string_view text) {
  if (text.size() > 200) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '_');
  if (parts.size() != 4 || !IsHex(parts[1], kIdBytes) || !IsHex(parts[2], kSecretBytes)) {
    return std::nullopt;
  }
  KeyText key{std::string(parts[1]), std::string(parts[2])};
  if (FormatKey(key) != text) return std::nullopt;
  return key;
}

std::string HashSecret(absl::string_view secret) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

bool SameHash(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace galen::gateway
