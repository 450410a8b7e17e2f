#ifndef COMMON_SECURITY_CERTIFICATES_FILES_H_
#define COMMON_SECURITY_CERTIFICATES_FILES_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/security/role.h"

namespace galen::security {

// The files of a program's credentials, all PEM.
struct CredentialFiles {
  std::string certificate;  // its own, and what leads from it to the authority
  std::string key;
  std::string authority;  // every authority that is trusted
};

// Those of a role in a directory: ROLE.pem, ROLE.key and ca.pem, as `galen certs` makes them; or
// tls.crt, tls.key and ca.crt where the directory has a tls.crt, as cert-manager fills a secret
// that is mounted there.
CredentialFiles FilesIn(const std::string& directory, Role role);

// Puts a file in place of the one that is there, all of it or nothing, with this mode from the
// first byte on.
absl::Status ReplaceFile(const std::string& path, absl::string_view content, mode_t mode);

}  // namespace galen::security

#endif  // COMMON_SECURITY_CERTIFICATES_FILES_H_
