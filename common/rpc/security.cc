#include "common/rpc/security.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/observability/log/log.h"
#include "common/observability/trace/trace.h"
#include "common/rpc/audit_interceptor.h"
#include "common/rpc/authorizer.h"
#include "common/rpc/certificate_watch.h"
#include "common/rpc/tenant_guard.h"
#include "common/security/audit/audit_log.h"
#include "common/security/claims/signer.h"
#include "common/security/identity.h"
#include "common/security/loopback.h"
#include "common/security/warrants/signer.h"
#include "common/security/warrants/verifier.h"

namespace galen::rpc {
namespace {

// Lets a connection come about only with the peer that is meant. gRPC has checked by then that the
// certificate leads to the authority and is valid.
class PeerVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  PeerVerifier(std::string domain, Peer peer)
      : domain_(std::move(domain)), peer_(std::move(peer)) {}
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>, grpc::Status* status) override {
    *status = Decide(request->uri_names());
    return true;  // decided at once
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  grpc::Status Decide(const std::vector<grpc::string_ref>& uris) const {
    if (uris.size() == 1) {
      const auto found = security::ParseIdentity({uris[0].data(), uris[0].size()});
      if (found.has_value() && found->domain == domain_ && found->role == peer_.role &&
          (peer_.instance.empty() || found->instance == peer_.instance ||
           (peer_.or_any && found->instance.empty()))) {
        return grpc::Status::OK;
      }
    }
    return {grpc::StatusCode::UNAUTHENTICATED,
            absl::StrCat("its certificate is not of ",
                         security::IdentityUri(domain_, peer_.role, peer_.instance))};
  }

  const std::string domain_;
  const Peer peer_;
};

absl::Status CheckPlaintext(absl::string_view what, const std::string& address) {
  if (security::IsLoopback(address)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, " ", address,
                   ": without certificates only loopback addresses are used; give --certs DIR "
                   "(`galen certs new DIR` makes them, docs/security.md), or use 127.0.0.1"));
}

void TellLog(const std::string& news) { log::Info(news); }

}  // namespace

struct Security::Parts {
  explicit Parts(SecurityOptions given)
      : options(std::move(given)),
        signer(clock),
        guard(clock, options.role),
        warrant_signer(clock),
        warrant_verifier(clock) {}

  const SystemClock clock;
  const SecurityOptions options;
  std::unique_ptr<security::AuditLog> audit;
  security::ClaimSigner signer;
  TenantGuard guard;
  security::WarrantSigner warrant_signer;
  security::WarrantVerifier warrant_verifier;
  std::string domain;
  std::unique_ptr<CertificateWatch> watch;  // null: no TLS. Last: it uses the members above.
};

Security::Security(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Security::~Security() = default;

absl::StatusOr<std::unique_ptr<Security>> Security::Open(SecurityOptions options) {
  const security::CredentialFiles& given = options.files;
  const bool any = !given.certificate.empty() || !given.key.empty() || !given.authority.empty();
  const bool all = !given.certificate.empty() && !given.key.empty() && !given.authority.empty();
  if (any && (!all || !options.directory.empty())) {
    return absl::InvalidArgumentError(
        "certificates: give either a directory or all three of certificate, key and authority");
  }
  if (!options.directory.empty()) {
    options.files = security::FilesIn(options.directory, options.role);
  }
  if (!options.tell) options.tell = TellLog;
  auto parts = std::make_unique<Parts>(std::move(options));
  if (!parts->options.audit_log.empty()) {
    GALEN_ASSIGN_OR_RETURN(parts->audit, security::AuditLog::Open(parts->options.audit_log));
  }
  if (!parts->options.files.certificate.empty()) {
    GALEN_ASSIGN_OR_RETURN(
        parts->watch,
        CertificateWatch::Start(
            {.files = parts->options.files,
             .role = parts->options.role,
             .poll = parts->options.poll,
             .use = [used = parts.get()](const security::Credentials& credentials) -> absl::Status {
               if (used->domain.empty()) used->domain = credentials.domain;
               if (used->domain != credentials.domain) {
                 return absl::InvalidArgumentError(
                     absl::StrCat(credentials.uri, ": is of another trust domain than ",
                                  used->domain, ", with which this program was started"));
               }
               GALEN_RETURN_IF_ERROR(used->signer.Use(credentials));
               GALEN_RETURN_IF_ERROR(used->warrant_signer.Use(credentials));
               GALEN_RETURN_IF_ERROR(used->warrant_verifier.Use(credentials));
               return used->guard.Use(credentials);
             },
             .tell = parts->options.tell}));
  }
  return std::unique_ptr<Security>(new Security(std::move(parts)));
}

bool Security::tls() const { return parts_->watch != nullptr; }

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Security::ForServer(
    const std::string& address) const {
  if (!tls()) {
    GALEN_RETURN_IF_ERROR(CheckPlaintext("to listen on", address));
    return grpc::InsecureServerCredentials();
  }
  grpc::experimental::TlsServerCredentialsOptions options(parts_->watch->provider());
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> credentials =
      grpc::experimental::TlsServerCredentials(options);
  credentials->SetAuthMetadataProcessor(
      std::make_shared<Authorizer>(parts_->domain, parts_->audit.get()));
  return credentials;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Security::ForChannel(
    const std::string& target, const Peer& peer) const {
  if (!tls()) {
    GALEN_RETURN_IF_ERROR(CheckPlaintext("to connect to", target));
    return grpc::InsecureChannelCredentials();
  }
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(parts_->watch->provider());
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();
  options.set_verify_server_certs(true);
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<PeerVerifier>(parts_->domain, peer));
  return grpc::experimental::TlsCredentials(options);
}

std::string Security::ServerNameOf(const Peer& peer) const {
  return tls() ? security::ServerName(parts_->domain, peer.role) : "";
}

std::string Security::ClaimFor(absl::string_view resource, security::Role audience) const {
  const absl::string_view tenant = security::TenantOf(resource);
  if (!tls() || tenant.empty()) return "";
  absl::StatusOr<std::string> claim = parts_->signer.For(tenant, audience, trace::Current().asker);
  if (claim.ok()) return *std::move(claim);
  // The call is sent without a claim; a service that requires one refuses it.
  parts_->options.tell(std::string(claim.status().message()));
  return "";
}

TenantGuard* Security::guard() const { return tls() ? &parts_->guard : nullptr; }

security::AuditLog* Security::audit() const { return parts_->audit.get(); }

const security::WarrantSigner* Security::warrant_signer() const {
  return tls() ? &parts_->warrant_signer : nullptr;
}

const security::WarrantVerifier* Security::warrant_verifier() const {
  return tls() ? &parts_->warrant_verifier : nullptr;
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Security::MakeInterceptors()
    const {
  return parts_->audit == nullptr ? nullptr : MakeAuditInterceptors(*parts_->audit);
}

absl::Duration Security::max_connection_age() const { return parts_->options.max_connection_age; }

}  // namespace galen::rpc
