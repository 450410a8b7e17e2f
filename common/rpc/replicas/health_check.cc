#include "common/rpc/replicas/health_check.h"

#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/steady.h"

namespace galen::rpc {
namespace {

// The protocol's request has one field, the service, which we leave out to ask for the server as a
// whole. The response has one as well: field 1, an enum, SERVING is 1
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md). So two empty messages suffice,
// with the response's unknown fields.
using Message = google::protobuf::Empty;
constexpr int kStatusField = 1;
constexpr std::uint64_t kServing = 1;

const std::string& Method() {
  static const std::string* const method = new std::string("/grpc.health.v1.Health/Check");
  return *method;
}

Picker::Health HealthIn(const grpc::Status& status, const Message& answer) {
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return Picker::Health::kServing;
  if (!status.ok()) return Picker::Health::kUnreachable;
  const google::protobuf::UnknownFieldSet& fields =
      answer.GetReflection()->GetUnknownFields(answer);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == kStatusField &&
        field.type() == google::protobuf::UnknownField::TYPE_VARINT && field.varint() == kServing) {
      return Picker::Health::kServing;
    }
  }
  return Picker::Health::kNotServing;
}

}  // namespace

struct HealthCheck::Parts {
  Mutex mu;
  std::shared_ptr<grpc::ClientContext> context ABSL_GUARDED_BY(mu);
  const Message request;
  Message answer;
  absl::AnyInvocable<void(Picker::Health) &&> done;
};

HealthCheck::HealthCheck(const std::shared_ptr<grpc::Channel>& channel, absl::Duration limit,
                         absl::AnyInvocable<void(Picker::Health) &&> done)
    : parts_(std::make_shared<Parts>()) {
  parts_->done = std::move(done);
  const auto context = std::make_shared<grpc::ClientContext>();
  context->set_deadline(ClockIn(limit));
  {
    MutexLock lock(parts_->mu);
    parts_->context = context;
  }
  grpc::TemplatedGenericStub<Message, Message> stub(channel);
  stub.UnaryCall(context.get(), Method(), grpc::StubOptions(), &parts_->request, &parts_->answer,
                 [parts = parts_](const grpc::Status& status) {
                   {
                     MutexLock lock(parts->mu);
                     parts->context.reset();
                   }
                   std::move(parts->done)(HealthIn(status, parts->answer));
                 });
}

HealthCheck::~HealthCheck() = default;

void HealthCheck::Cancel() {
  MutexLock lock(parts_->mu);
  if (parts_->context != nullptr) parts_->context->TryCancel();
}

}  // namespace galen::rpc
