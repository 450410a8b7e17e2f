#include "common/rpc/authorizer.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/text.h"
#include "common/security/certificates/credentials.h"
#include "common/security/claims/claim.h"
#include "common/security/policy.h"

namespace galen::rpc {
namespace {

// Certificates whose expiry is remembered.
constexpr std::size_t kMaxRemembered = 4'096;
constexpr std::size_t kMostAsker = 256;

absl::string_view View(grpc::string_ref text) { return {text.data(), text.size()}; }

}  // namespace

std::optional<security::Identity> PeerOf(const grpc::AuthContext& context, grpc::string_ref& uri) {
  // gRPC sets this property when the certificate has a single URI and it is a SPIFFE ID.
  const std::vector<grpc::string_ref> found =
      context.FindPropertyValues(GRPC_PEER_SPIFFE_ID_PROPERTY_NAME);
  if (found.size() != 1) return std::nullopt;
  uri = found.front();
  return security::ParseIdentity(View(uri));
}

Authorizer::Authorizer(std::string domain, security::AuditLog* audit)
    : domain_(std::move(domain)), audit_(audit) {}

grpc::Status Authorizer::Process(const InputMetadata& metadata, grpc::AuthContext* context,
                                 OutputMetadata*, OutputMetadata*) {
  const auto path = metadata.find(":path");
  const absl::string_view method =
      path == metadata.end() ? absl::string_view() : View(path->second);
  grpc::string_ref uri;
  const std::optional<security::Identity> peer = PeerOf(*context, uri);
  if (!peer.has_value() || peer->domain != domain_) {
    return Refuse(
        grpc::StatusCode::UNAUTHENTICATED, metadata, View(uri), method,
        absl::StrCat("the caller's certificate must have one URI, spiffe://", domain_,
                     "/galen/ROLE; it has ", uri.empty() ? "none of that form" : View(uri)));
  }
  if (absl::Now() >= ExpiryOf(*context)) {
    return Refuse(grpc::StatusCode::UNAUTHENTICATED, metadata, View(uri), method,
                  "the caller's certificate has expired since it connected");
  }
  const security::MethodRule* rule = security::FindRule(method);
  if (rule == nullptr || !rule->callers.Has(peer->role)) {
    return Refuse(
        grpc::StatusCode::PERMISSION_DENIED, metadata, View(uri), method,
        absl::StrCat(method, ": a caller of role ", NameOf(peer->role), " may not call this"));
  }
  if (rule->tenant_field.empty() && metadata.find(security::kClaimKey) != metadata.end()) {
    return Refuse(grpc::StatusCode::PERMISSION_DENIED, metadata, View(uri), method,
                  absl::StrCat(method, ": takes no claim of a tenant"));
  }
  return grpc::Status::OK;
}

absl::Time Authorizer::ExpiryOf(const grpc::AuthContext& context) {
  const std::vector<grpc::string_ref> found =
      context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (found.size() != 1) return absl::InfinitePast();
  const absl::string_view pem = View(found.front());
  MutexLock lock(mu_);
  const auto known = expiries_.find(pem);
  if (known != expiries_.end()) return known->second;
  if (expiries_.size() >= kMaxRemembered) expiries_.clear();
  return expiries_.emplace(std::string(pem), security::ExpiryOf(pem)).first->second;
}

grpc::Status Authorizer::Refuse(grpc::StatusCode code, const InputMetadata& metadata,
                                absl::string_view peer, absl::string_view method,
                                const std::string& reason) const {
  if (audit_ != nullptr) {
    security::AuditRecord record;
    record.time = absl::Now();
    const auto trace = metadata.find("traceparent");
    if (trace != metadata.end()) record.trace = TraceIdOf(View(trace->second));
    record.peer = std::string(peer);
    if (const auto identity = security::ParseIdentity(peer)) {
      record.asker = AskerOf(identity->role, metadata);
    }
    record.method = std::string(method);
    record.outcome = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
    record.reason = reason;
    audit_->Put(record);
  }
  return {code, reason};
}

std::string AskerOf(security::Role peer,
                    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  if (peer != security::Role::kGateway && peer != security::Role::kOrchestrator &&
      peer != security::Role::kExecution) {
    return "";
  }
  const auto found = metadata.find(security::kAskerKey);
  return found == metadata.end() ? "" : CleanText(View(found->second), kMostAsker);
}

std::string TraceIdOf(absl::string_view traceparent) {
  // 00-<32 hex digits>-<16>-<2>; other versions may go on after that.
  if (traceparent.size() < 55 || traceparent[2] != '-' || traceparent[35] != '-') return "";
  const absl::string_view id = traceparent.substr(3, 32);
  const bool is_hex = std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  return is_hex ? std::string(id) : "";
}

}  // namespace galen::rpc
