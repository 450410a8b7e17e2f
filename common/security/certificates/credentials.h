#ifndef COMMON_SECURITY_CERTIFICATES_CREDENTIALS_H_
#define COMMON_SECURITY_CERTIFICATES_CREDENTIALS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/certificates/files.h"
#include "common/security/role.h"

namespace galen::security {

// A program's certificate and key, and the authority it trusts, all verified.
struct Credentials {
  std::string certificate;  // PEM, with the chain
  std::string key;          // PEM
  std::string authority;    // PEM
  std::string uri;          // its identity
  std::string domain;       // of that identity
  Role role = Role::kMetrics;
  absl::Time not_after;
};

// Reads the files. An error, which names the file and says what is wrong, unless the key is that
// of the certificate, the certificate leads to the authority and is valid at `now`, and its one URI
// is an identity of `role`.
absl::StatusOr<Credentials> LoadCredentials(const CredentialFiles& files, Role role,
                                            absl::Time now);

// Until when the first certificate of a PEM text is good; the infinite past when there is none.
absl::Time ExpiryOf(absl::string_view pem);

}  // namespace galen::security

#endif  // COMMON_SECURITY_CERTIFICATES_CREDENTIALS_H_
