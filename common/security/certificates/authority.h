#ifndef COMMON_SECURITY_CERTIFICATES_AUTHORITY_H_
#define COMMON_SECURITY_CERTIFICATES_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Makes certificates, for development and tests. Keys are ECDSA over P-256. All are thread-safe.
namespace galen::security {

// PEM texts.
struct Issued {
  std::string certificate;
  std::string key;
};

struct Validity {
  absl::Time from;
  absl::Time until;
};

// A certificate authority that signs itself.
absl::StatusOr<Issued> MakeAuthority(const std::string& name, const Validity& validity);

// A certificate for the identity `uri`, good for clients and servers, signed by `authority`. It
// also carries the role's ServerName(), if `uri` is an identity.
absl::StatusOr<Issued> Issue(const Issued& authority, const std::string& uri,
                             const Validity& validity);

}  // namespace galen::security

#endif  // COMMON_SECURITY_CERTIFICATES_AUTHORITY_H_
