#ifndef SERVICES_GATEWAY_WEBHOOKS_SIGNATURE_H_
#define SERVICES_GATEWAY_WEBHOOKS_SIGNATURE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "services/gateway/http/message.h"

namespace galen::gateway::webhooks {

// How a sender proves the origin of a delivery: the vendor's documentation, as data.
struct Scheme {
  enum class Kind {
    kHmacSha256,  // a MAC over `signs`
    kEd25519,     // a signature over `signs`
    kToken,       // the secret itself
  };
  enum class Encoding { kHex, kBase64 };
  enum class SecretForm {
    kText,    // its bytes as they are
    kBase64,  // after a prefix "whsec_", "whsk_" or "whpk_", if it has one
  };

  std::string name;  // what endpoints call it
  Kind kind = Kind::kHmacSha256;
  // The header with the signature; or, for kToken, the parameter of the URL's query.
  std::string header;
  std::string query;
  // The text before it: "sha256=". Signatures in the header that begin otherwise are ignored.
  std::string prefix;
  char separator = '\0';  // between several; '\0': there is one
  Encoding encoding = Encoding::kHex;
  SecretForm secret = SecretForm::kText;
  // The signed text, with {id}, {timestamp} and {body}.
  std::string signs = "{body}";
  std::string id_header;
  std::string timestamp_header;  // seconds since 1970; "": the time of sending is unknown
  absl::Duration tolerance = absl::Minutes(5);
};

// INVALID_ARGUMENT: the scheme cannot work: no place, {timestamp} without its header, ...
absl::Status CheckScheme(const Scheme& scheme);

// A secret in the form of a scheme. No message contains its text.
class Key {
 public:
  // INVALID_ARGUMENT: the text is empty, or not of the scheme's form.
  static absl::StatusOr<Key> Make(const Scheme& scheme, absl::string_view text);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;  // of kEd25519 the public key
};

// Whether one of the signatures of a request is one of `keys`', and its time is less than
// `tolerance` away from `now`, either way. Compares in constant time. UNAUTHENTICATED names what is
// missing or wrong, and never repeats the request. Pure.
absl::Status Verify(const Scheme& scheme, absl::Span<const Key> keys, const http::Request& request,
                    absl::Time now);

// Verify() for an unknown sender: as much work, and the same for all.
void VerifyNothing(const http::Request& request);

// For tests, of senders and ours: the header that `key` makes. INVALID_ARGUMENT: kEd25519, whose
// public key signs nothing.
absl::StatusOr<std::string> Sign(const Scheme& scheme, const Key& key, absl::string_view id,
                                 absl::string_view timestamp, absl::string_view body);

// SHA-256, 32 bytes.
std::string Sha256(absl::string_view data);

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_SIGNATURE_H_
