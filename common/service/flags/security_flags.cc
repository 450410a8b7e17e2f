#include "common/service/flags/security_flags.h"

#include <string>

#include "absl/flags/flag.h"

ABSL_FLAG(std::string, certs, "",
          "Directory of certificates: ROLE.pem, ROLE.key and ca.pem as `galen certs` makes them, "
          "or tls.crt, tls.key and ca.crt as cert-manager does (docs/security.md). Changed files "
          "are loaded. None: no TLS, and only loopback addresses.");
ABSL_FLAG(std::string, tls_cert, "",
          "Instead of --certs: this program's certificate and its chain.");
ABSL_FLAG(std::string, tls_key, "", "Instead of --certs: the key of --tls_cert.");
ABSL_FLAG(std::string, tls_ca, "", "Instead of --certs: the authorities that are trusted.");
ABSL_FLAG(std::string, audit_log, "",
          "File to which each call appends a JSON line: who did what, and what was refused.");

namespace galen::rpc {

SecurityOptions SecurityFromFlags(security::Role role) {
  SecurityOptions options;
  options.role = role;
  options.directory = absl::GetFlag(FLAGS_certs);
  options.files = {absl::GetFlag(FLAGS_tls_cert), absl::GetFlag(FLAGS_tls_key),
                   absl::GetFlag(FLAGS_tls_ca)};
  options.audit_log = absl::GetFlag(FLAGS_audit_log);
  return options;
}

}  // namespace galen::rpc
