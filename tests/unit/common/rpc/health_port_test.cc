#include "common/rpc/health_port.h"

#include <gmock/gmock.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::rpc {
namespace {

using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

// The answer of a probe: SERVING, NOT_SERVING, or the code of the error.
std::string Probe(const HealthPort& port, const std::string& service,
                  const std::string& method = "/grpc.health.v1.Health/Check") {
  // The request's one field is a text, number 1; the answer's an enum, number 1.
  using Request = google::protobuf::StringValue;
  using Answer = google::protobuf::Empty;
  const auto channel = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port.port()),
                                           grpc::InsecureChannelCredentials());
  grpc::TemplatedGenericStub<Request, Answer> stub(channel);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  Request request;
  request.set_value(service);
  Answer answer;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &answer,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  if (!status.ok()) return absl::StrCat("error ", static_cast<int>(status.error_code()));
  const auto& fields = answer.GetReflection()->GetUnknownFields(answer);
  if (fields.field_count() != 1) return "no answer";
  return fields.field(0).varint() == 1 ? "SERVING" : "NOT_SERVING";
}

// gRPC's numbers of codes.
constexpr char kCancelled[] = "error 1";
constexpr char kNotFound[] = "error 5";

class HealthPortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto port = HealthPort::Open("127.0.0.1:0");
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *std::move(port);
  }
  std::unique_ptr<HealthPort> port_;
};

TEST_F(HealthPortTest, AProgramThatStartsIsAliveAndNotReady) {
  EXPECT_EQ(Probe(*port_, ""), "NOT_SERVING");
  EXPECT_EQ(Probe(*port_, "readiness"), "NOT_SERVING");
  EXPECT_EQ(Probe(*port_, "liveness"), "SERVING");
}

TEST_F(HealthPortTest, TellsThatTheProgramServes) {
  port_->Serve();
  for (const char* service : {"", "readiness", "liveness"}) {
    EXPECT_EQ(Probe(*port_, service), "SERVING") << service;
  }
}

TEST_F(HealthPortTest, AProgramThatDrainsIsAliveAndNotReady) {
  port_->Serve();
  port_->Drain();
  EXPECT_EQ(Probe(*port_, ""), "NOT_SERVING");
  EXPECT_EQ(Probe(*port_, "readiness"), "NOT_SERVING");
  EXPECT_EQ(Probe(*port_, "liveness"), "SERVING");
}

TEST_F(HealthPortTest, KnowsNoOtherServiceAndNoOtherMethod) {
  EXPECT_EQ(Probe(*port_, "galen.node.v1.NodeService"), kNotFound);
  EXPECT_EQ(Probe(*port_, "", "/galen.node.v1.NodeService/Describe"), kCancelled);
  // It is in every server of this program.
  EXPECT_EQ(Probe(*port_, "", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"),
            kCancelled);
}

TEST_F(HealthPortTest, AnAddressInUseIsNamed) {
  const std::string address = absl::StrCat("127.0.0.1:", port_->port());
  EXPECT_THAT(HealthPort::Open(address).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(address)));
}

}  // namespace
}  // namespace galen::rpc
