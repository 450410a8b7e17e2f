#ifndef COMMON_RPC_SECURITY_H_
#define COMMON_RPC_SECURITY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/security/certificates/files.h"
#include "common/security/role.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
namespace experimental {
class ServerInterceptorFactoryInterface;
}
}  // namespace grpc

namespace galen::security {
class AuditLog;
class WarrantSigner;
class WarrantVerifier;
}  // namespace galen::security

namespace galen::rpc {

class TenantGuard;

struct SecurityOptions {
  // The program's role, which its certificate must name too.
  security::Role role = security::Role::kOperator;
  // The directory of the certificates (security::FilesIn()), or the three files; or none: then
  // there is no TLS.
  std::string directory;
  security::CredentialFiles files;
  // File for who did what; "" none.
  std::string audit_log;
  // Interval at which the files are checked for changes.
  absl::Duration poll = absl::Seconds(1);
  // A server asks clients to reconnect after this time, which shows whether their certificates are
  // still valid.
  absl::Duration max_connection_age = absl::Hours(1);
  // Called when certificates are loaded or refused; by default it writes to the log.
  std::function<void(const std::string& news)> tell;
};

// The required identity at the other end of a channel.
struct Peer {
  security::Role role;
  // The instance that its identity must have; "" no matter which.
  std::string instance = "";
  // Whether one without an instance will do as well: then it may be any of its role.
  bool or_any = false;
};

// How a program proves who it is and decides whom to talk to; one for all its servers and channels,
// which must not outlive it. docs/security.md says what that guarantees. Thread-safe.
class Security {
 public:
  // An error, which names the file and what is wrong with it, when the certificates are not sound.
  static absl::StatusOr<std::unique_ptr<Security>> Open(SecurityOptions options);
  ~Security();
  Security(const Security&) = delete;
  Security& operator=(const Security&) = delete;

  // Whether there are certificates. Without, all else is for loopback.
  bool tls() const;

  // For a server at `address`: asks clients for a certificate of the same authority and holds every
  // call against the policy. FAILED_PRECONDITION without certificates off loopback.
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ForServer(
      const std::string& address) const;
  // For a channel to `target`, at whose other end `peer` must be, whatever its host name. Likewise.
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ForChannel(const std::string& target,
                                                                       const Peer& peer) const;

  // The server name that such a channel asks for; "" without certificates.
  std::string ServerNameOf(const Peer& peer) const;

  // The claim to send under security::kClaimKey with a call about `resource` ("tenants/t/..."), to
  // a service of role `audience`, made by the calling thread for its asker (trace::Current()). ""
  // without certificates, or when `resource` is of no tenant: then nothing is sent.
  std::string ClaimFor(absl::string_view resource, security::Role audience) const;

  // For the services of this program that act for tenants; null without certificates.
  TenantGuard* guard() const;

  // The audit log of actions other than calls; null without one.
  security::AuditLog* audit() const;

  // For programs that sign or verify approvals; null without certificates.
  const security::WarrantSigner* warrant_signer() const;
  const security::WarrantVerifier* warrant_verifier() const;

  // To be put into a server's interceptors; null without an audit log.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeInterceptors() const;

  absl::Duration max_connection_age() const;

 private:
  struct Parts;
  explicit Security(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace galen::rpc

#endif  // COMMON_RPC_SECURITY_H_
