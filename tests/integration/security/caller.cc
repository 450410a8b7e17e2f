#include "tests/integration/security/caller.h"

#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <chrono>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/security/claims/claim.h"

namespace galen::testing {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;

// Far longer than anything takes: who meets it hangs.
constexpr std::chrono::seconds kHangs{60};

}  // namespace

std::map<std::string, const MethodDescriptor*> AllMethods() {
  std::map<std::string, const MethodDescriptor*> methods;
  std::vector<std::string> files;
  DescriptorPool::internal_generated_database()->FindAllFileNames(&files);
  for (const std::string& name : files) {
    const auto* file = DescriptorPool::generated_pool()->FindFileByName(name);
    if (file == nullptr || !absl::StartsWith(file->package(), "galen.")) continue;
    for (int s = 0; s < file->service_count(); ++s) {
      // Over HTTP alone: no program serves it by gRPC (docs/decisions/012).
      if (file->service(s)->full_name() == "galen.v1.ActionService" ||
          file->service(s)->full_name() == "galen.v1.CheckService") {
        continue;
      }
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const MethodDescriptor* method = file->service(s)->method(m);
        methods[absl::StrCat("/", file->service(s)->full_name(), "/", method->name())] = method;
      }
    }
  }
  return methods;
}

std::string RequestOf(const MethodDescriptor& method, const std::string& field,
                      const std::string& value) {
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(method.input_type())
          ->New());
  if (!field.empty()) {
    request->GetReflection()->SetString(request.get(), method.input_type()->FindFieldByName(field),
                                        value);
  }
  // A node that does not exist: a watch of all nodes would never end.
  const auto* nodes = method.input_type()->FindFieldByName("nodes");
  if (nodes != nullptr && nodes->is_repeated()) {
    request->GetReflection()->AddString(request.get(), nodes, "nobody");
  }
  return request->SerializeAsString();
}

grpc::Status CallMethod(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                        const std::string& request, const std::string& claim,
                        const std::string& asker) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kHangs);
  if (!claim.empty()) context.AddMetadata(security::kClaimKey, claim);
  if (!asker.empty()) context.AddMetadata(security::kAskerKey, asker);
  const auto call = stub.PrepareCall(&context, method, &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const grpc::Slice slice(request);
  const grpc::ByteBuffer message(&slice, 1);
  call->StartCall(nullptr);
  if (done()) {
    call->WriteLast(message, {}, nullptr);
    done();
    grpc::ByteBuffer answer;
    do {
      call->Read(&answer, nullptr);
    } while (done());
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  done();
  return status;
}

std::shared_ptr<grpc::Channel> StrangersChannel(const std::string& target,
                                                const std::string& authority,
                                                const security::Issued& own) {
  namespace tls = grpc::experimental;
  std::vector<tls::IdentityKeyCertPair> pairs;
  if (!own.certificate.empty()) pairs.push_back({own.key, own.certificate});
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::StaticDataCertificateProvider>(authority, pairs));
  options.watch_root_certs();
  if (!pairs.empty()) options.watch_identity_key_cert_pairs();
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());
  return grpc::CreateChannel(target, tls::TlsCredentials(options));
}

}  // namespace galen::testing
