#ifndef COMMON_RPC_AUTHORIZER_H_
#define COMMON_RPC_AUTHORIZER_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/security/audit/audit_log.h"
#include "common/security/identity.h"

namespace galen::rpc {

// The identity in the certificate of a call's peer; `uri`, which holds what the result views, is
// set to it. Nothing when the connection has none.
std::optional<security::Identity> PeerOf(const grpc::AuthContext& context, grpc::string_ref& uri);

// Decides on every call of a server before gRPC finds its method: unary or streaming, of our
// services, of health or of reflection, or of a method that does not exist. gRPC asks it on the
// thread that read the call, so it never blocks. It refuses calls that common/security/policy.h
// does not allow, and calls with an expired certificate: a connection may outlast its certificate,
// and a client with a TLS session may resume it without showing a certificate again.
class Authorizer final : public grpc::AuthMetadataProcessor {
 public:
  // Peers must be of this trust domain. `audit` may be null; else it must outlive the server.
  Authorizer(std::string domain, security::AuditLog* audit);
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* consumed, OutputMetadata* response) override;

 private:
  // Expiry of the certificate that the connection showed.
  absl::Time ExpiryOf(const grpc::AuthContext& context);
  grpc::Status Refuse(grpc::StatusCode code, const InputMetadata& metadata, absl::string_view peer,
                      absl::string_view method, const std::string& reason) const;

  const std::string domain_;
  security::AuditLog* const audit_;
  Mutex mu_;
  absl::flat_hash_map<std::string, absl::Time> expiries_ ABSL_GUARDED_BY(mu_);  // by certificate
};

// The credential of whose request a call is part, by its metadata (security::kAskerKey): as a
// gateway states it, and orchestrator and execution pass it on; "" of any other peer. Cleaned, at
// most 256 bytes.
std::string AskerOf(security::Role peer,
                    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);

// The trace id of a W3C `traceparent` header (https://www.w3.org/TR/trace-context/), "" when it is
// invalid.
std::string TraceIdOf(absl::string_view traceparent);

}  // namespace galen::rpc

#endif  // COMMON_RPC_AUTHORIZER_H_
