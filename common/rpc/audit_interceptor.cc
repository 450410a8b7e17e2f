#include "common/rpc/audit_interceptor.h"

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>

#include <map>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/rpc/authorizer.h"
#include "common/security/policy.h"

namespace galen::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;

std::string FieldOf(const google::protobuf::Message& message, absl::string_view field) {
  const google::protobuf::FieldDescriptor* found =
      message.GetDescriptor()->FindFieldByName(std::string(field));
  if (found == nullptr || found->is_repeated() ||
      found->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
    return "";
  }
  return message.GetReflection()->GetString(message, found);
}

class AuditInterceptor final : public grpc::experimental::Interceptor {
 public:
  AuditInterceptor(grpc::experimental::ServerRpcInfo& info, security::AuditLog& audit)
      : audit_(audit), info_(info), rule_(security::FindRule(info.method())) {
    record_.method = info.method();
    record_.outcome = "CANCELLED";  // unless a status is sent
  }
  ~AuditInterceptor() override {
    record_.time = absl::Now();
    audit_.Put(record_);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      SeeCaller(*methods->GetRecvInitialMetadata());
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) &&
        rule_ != nullptr) {
      // The request as the method will get it. It is a generated message, whose one base class is
      // Message: both have the same address.
      if (const void* request = methods->GetRecvMessage()) {
        record_.resource = ResourceOf(*static_cast<const google::protobuf::Message*>(request));
      }
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const grpc::Status status = methods->GetSendStatus();
      record_.outcome =
          absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code()));
      record_.reason = status.error_message();
    }
    methods->Proceed();
  }

 private:
  // The tenant's; else the node that the request is of, and where that says to be.
  std::string ResourceOf(const google::protobuf::Message& request) const {
    if (!rule_->tenant_field.empty()) return FieldOf(request, rule_->tenant_field);
    const std::string node = FieldOf(request, "node");
    const std::string address = FieldOf(request, "address");
    return address.empty() ? node : absl::StrCat(node, " at ", address);
  }

  void SeeCaller(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    const auto trace = metadata.find("traceparent");
    if (trace != metadata.end()) {
      record_.trace = TraceIdOf({trace->second.data(), trace->second.size()});
    }
    record_.address = info_.server_context()->peer();
    const auto connection = info_.server_context()->auth_context();
    grpc::string_ref uri;
    if (connection == nullptr) return;
    const std::optional<security::Identity> peer = PeerOf(*connection, uri);
    if (!peer.has_value()) return;
    record_.peer.assign(uri.data(), uri.size());
    record_.asker = AskerOf(peer->role, metadata);
  }

  security::AuditLog& audit_;
  grpc::experimental::ServerRpcInfo& info_;
  const security::MethodRule* const rule_;
  security::AuditRecord record_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(security::AuditLog& audit) : audit_(audit) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    if (absl::StartsWith(info->method(), "/grpc.health.")) return nullptr;
    return new AuditInterceptor(*info, audit_);
  }

 private:
  security::AuditLog& audit_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeAuditInterceptors(
    security::AuditLog& audit) {
  return std::make_unique<Factory>(audit);
}

}  // namespace galen::rpc
