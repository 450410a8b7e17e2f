#ifndef SERVICES_GATEWAY_OIDC_JWK_SET_H_
#define SERVICES_GATEWAY_OIDC_JWK_SET_H_

#include <openssl/evp.h>

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway {

// The public keys that an identity provider signs with (RFC 7517, RFC 7518 section 6, RFC 8037).
// Copies share the keys. Thread-safe once made.
class JwkSet {
 public:
  // Reads a document of at most 256 KiB. Keys that are not for signatures, that have no `kid`, or
  // whose kind is not in docs/api.md are ignored, as RFC 7517 section 5 asks. INVALID_ARGUMENT: it
  // is not a key set, or none of its keys is usable.
  static absl::StatusOr<JwkSet> Parse(absl::string_view json);

  bool Has(absl::string_view kid) const { return keys_.find(kid) != keys_.end(); }
  std::size_t size() const { return keys_.size(); }

  // OK if `signature` is that of `text` by the key `kid` with the algorithm `alg` ("RS256"), which
  // must fit the key. UNAUTHENTICATED otherwise.
  absl::Status Verify(absl::string_view kid, absl::string_view alg, absl::string_view text,
                      absl::string_view signature) const;

 private:
  struct Key {
    std::shared_ptr<EVP_PKEY> key;
    std::string kind;  // "RSA", "P-256", "P-384", "Ed25519"
    std::string alg;   // "": any of its kind
  };
  static absl::StatusOr<Key> ParseKey(const void* jwk);

  std::map<std::string, Key, std::less<>> keys_;
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_OIDC_JWK_SET_H_
