#ifndef SERVICES_GATEWAY_ACCESS_API_KEY_H_
#define SERVICES_GATEWAY_ACCESS_API_KEY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway {

// An API key as its owner holds it: "galen_ID_SECRET_CHECK". The prefix lets secret scanners
// recognise a leaked key; the id, 12 hexadecimal digits, is public; the secret is 256 random bits;
// the check, a CRC-32 of the text before it, distinguishes a mistyped key from a wrong one.
struct KeyText {
  std::string id;
  std::string secret;  // 64 hexadecimal digits
};

// A new one, from the system's random numbers.
absl::StatusOr<KeyText> NewKeyText();
std::string FormatKey(const KeyText& key);
// Nothing if the text has another form or a wrong check.
std::optional<KeyText> ParseKey(absl::string_view text);

// The hash stored instead of a secret: SHA-256, 32 bytes. It need not be slow, as a password hash
// must be, because nobody can try all of 2^256.
std::string HashSecret(absl::string_view secret);
// In a time that does not depend on where they differ.
bool SameHash(absl::string_view a, absl::string_view b);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_ACCESS_API_KEY_H_
