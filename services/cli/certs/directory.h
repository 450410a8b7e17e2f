#ifndef SERVICES_CLI_CERTS_DIRECTORY_H_
#define SERVICES_CLI_CERTS_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// A directory of certificates, as `galen certs` makes it for development:
//   ca.pem            the authorities that are trusted, the one that signs first
//   ca.key            the key of that one
//   ROLE.pem .key     a certificate and its key for each role
//   node-HOST/        node.pem, node.key and ca.pem of one host, to be copied there
// Keys are readable by their owner alone. Files are replaced whole, so programs that run on them
// follow (common/rpc/certificate_watch.h).
namespace galen::cli {

struct NewCertificates {
  std::string domain = "galen.local";
  std::vector<std::string> nodes;  // hosts that get a certificate of their own
  absl::Duration valid = absl::Hours(24 * 90);
};

// Makes the directory. ALREADY_EXISTS when there is a ca.pem or ca.key in it.
absl::Status MakeCertificates(const std::string& directory, const NewCertificates& wanted,
                              absl::Time now);

// Reissues each certificate of the directory with a new key, the same identity, and the current
// authority. Returns their number.
absl::StatusOr<int> RenewCertificates(const std::string& directory, absl::Duration valid,
                                      absl::Time now);

// Makes an authority that signs from now on; the ones before stay trusted.
absl::Status AddAuthority(const std::string& directory, absl::Time now);
// Trusts the authority that signs alone. FAILED_PRECONDITION when a certificate of the directory is
// still of another one.
absl::Status RetireAuthorities(const std::string& directory, absl::Time now);

struct CertificateFacts {
  std::string file;      // below the directory: "planning.pem"
  std::string identity;  // "" of an authority
  absl::Time not_before;
  absl::Time not_after;
  std::string issuer;       // its common name and the beginning of its key's digest
  std::string fingerprint;  // SHA-256 of the certificate, hexadecimal
  std::string problem;      // why programs would not take it; "" when they would
};
// The certificates of the directory, the authorities first.
absl::StatusOr<std::vector<CertificateFacts>> DescribeCertificates(const std::string& directory,
                                                                   absl::Time now);

}  // namespace galen::cli

#endif  // SERVICES_CLI_CERTS_DIRECTORY_H_
