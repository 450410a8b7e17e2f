// Every method refuses callers without access. The table is generated from the protos, so that it
// covers new methods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/rpc/channel.h"
#include "common/rpc/serve.h"
#include "common/security/policy.h"
#include "galen/execution/v1/execution.pb.h"
#include "tests/integration/security/mesh.h"
#include "tests/testing/status_matchers.h"

namespace galen::testing {
namespace {

using security::FindRule;
using security::Role;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RefusalsTest : public ::testing::Test {
 protected:
  // Calls every method with that channel, and expects it to end so.
  void ExpectOnEveryMethod(
      const std::function<std::shared_ptr<grpc::Channel>(const std::string& method)>& connect,
      grpc::StatusCode code) {
    for (const auto& [name, method] : AllMethods()) {
      const grpc::Status status = CallMethod(connect(name), name, RequestOf(*method, "", ""));
      EXPECT_EQ(status.error_code(), code) << name << ": " << status.error_message();
    }
  }
  void ExpectNoConnection(const security::Issued& own) {
    ExpectOnEveryMethod(
        [&](const std::string& method) {
          return StrangersChannel(mesh_.ServerOf(method), mesh_.authority().certificate, own);
        },
        grpc::StatusCode::UNAVAILABLE);
  }
  SecureMesh mesh_;
};

TEST_F(RefusalsTest, EveryServiceThatThereIsIsServedHere) {
  ASSERT_GE(AllMethods().size(), 23u);
  for (const auto& [name, method] : AllMethods()) {
    EXPECT_NE(mesh_.ServerOf(name), "")
        << name << ": add its service to tests/integration/security/mesh.cc";
  }
}

// The control: the same caller gets in with a good certificate.
TEST_F(RefusalsTest, AStrangersChannelWithAGoodCertificateGetsThroughToThePolicy) {
  for (const auto& [name, method] : AllMethods()) {
    for (const Role role : security::AllRoles()) {
      if (!FindRule(name)->callers.Has(role)) continue;
      const grpc::Status status =
          CallMethod(StrangersChannel(mesh_.ServerOf(name), mesh_.authority().certificate,
                                      IssueFor(mesh_.authority(), role)),
                     name, RequestOf(*method, "", ""));
      EXPECT_THAT(status.error_code(),
                  AnyOf(grpc::StatusCode::OK, grpc::StatusCode::UNIMPLEMENTED,
                        grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::NOT_FOUND,
                        grpc::StatusCode::PERMISSION_DENIED))
          << name << ": " << status.error_message();
      if (FindRule(name)->tenant_field.empty()) {
        EXPECT_NE(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << name;
      } else {
        EXPECT_THAT(status.error_message(), AnyOf("", HasSubstr("claim of a tenant"))) << name;
      }
      break;
    }
  }
}

TEST_F(RefusalsTest, ANodeRegistersTheHostOfItsCertificateAndNoOther) {
  const std::string service = "/galen.execution.v1.ExecutionService/";
  const auto code = [&](const std::string& instance, const std::string& method,
                        const google::protobuf::Message& request) {
    return CallMethod(StrangersChannel(
                          mesh_.ServerOf(service + method), mesh_.authority().certificate,
                          IssueFor(mesh_.authority(), Role::kNode, GoodNow(), kDomain, instance)),
                      service + method, request.SerializeAsString())
        .error_code();
  };
  execution::v1::RegisterNodeRequest comes;
  comes.set_node("gpu-1");
  comes.set_address("127.0.0.1:50054");
  execution::v1::WithdrawNodeRequest goes;
  goes.set_node("gpu-1");
  goes.set_address("127.0.0.1:50054");
  EXPECT_EQ(code("gpu-1", "RegisterNode", comes), grpc::StatusCode::OK);
  EXPECT_EQ(code("gpu-2", "RegisterNode", comes), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code("gpu-2", "WithdrawNode", goes), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code("gpu-1", "WithdrawNode", goes), grpc::StatusCode::OK);
}

// The limits of a caller with all secrets of one node's pod, for its own node and for others.
TEST_F(RefusalsTest, ANodeIsWhereItCallsFromAndACertificateThatNamesNoneIsNoNode) {
  const std::string service = "/galen.execution.v1.ExecutionService/";
  const auto call = [&](const std::string& instance, const std::string& method,
                        const std::string& address) {
    execution::v1::RegisterNodeRequest request;  // the other's fields are the same
    request.set_node("gpu-1");
    request.set_address(address);
    return CallMethod(
        StrangersChannel(mesh_.ServerOf(service + method), mesh_.authority().certificate,
                         IssueFor(mesh_.authority(), Role::kNode, GoodNow(), kDomain, instance)),
        service + method, request.SerializeAsString());
  };
  for (const char* method : {"RegisterNode", "WithdrawNode"}) {
    const grpc::Status unnamed = call("", method, "127.0.0.1:50054");
    EXPECT_EQ(unnamed.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method;
    EXPECT_THAT(unnamed.error_message(), HasSubstr("--shared_node_certificates"));
    for (const char* elsewhere : {"169.254.169.254:80", "10.0.0.9:6379", "[fe80::1]:50054",
                                  "[::ffff:10.0.0.9]:22", "0.0.0.0:22", "224.0.0.1:9"}) {
      const grpc::Status status = call("gpu-1", method, elsewhere);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
          << method << " " << elsewhere;
      EXPECT_THAT(status.error_message(), HasSubstr("--node_networks")) << elsewhere;
    }
    // A name is not resolved: it counts as the caller's own address.
    EXPECT_EQ(call("gpu-1", method, "redis.galen.svc:6379").error_code(), grpc::StatusCode::OK);
  }
}

TEST_F(RefusalsTest, TheGatewayHasNoCheckRunThatLoadsAMachineOrLooksWhereItIsTold) {
  const std::string method = "/galen.execution.v1.ExecutionService/RunChecks";
  execution::v1::RunChecksRequest intrusive;
  intrusive.set_allow_intrusive(true);
  execution::v1::RunChecksRequest busy;
  busy.set_allow_busy(true);
  execution::v1::RunChecksRequest told;
  told.add_parameters()->set_check("net.reachability");
  for (execution::v1::RunChecksRequest* request : {&intrusive, &busy, &told}) {
    request->add_checks("net.reachability");
    const auto status = [&](Role role) {
      return CallMethod(StrangersChannel(mesh_.ServerOf(method), mesh_.authority().certificate,
                                         IssueFor(mesh_.authority(), role)),
                        method, request->SerializeAsString());
    };
    EXPECT_EQ(status(Role::kGateway).error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(status(Role::kGateway).error_message(), HasSubstr("checks that only read"));
    EXPECT_THAT(status(Role::kOperator).error_message(), Not(HasSubstr("checks that only read")));
  }
}

TEST_F(RefusalsTest, WithoutTls) {
  ExpectOnEveryMethod(
      [&](const std::string& method) {
        return grpc::CreateChannel(mesh_.ServerOf(method), grpc::InsecureChannelCredentials());
      },
      grpc::StatusCode::UNAVAILABLE);
}

TEST_F(RefusalsTest, WithoutACertificate) { ExpectNoConnection({}); }

TEST_F(RefusalsTest, WithACertificateOfAnotherAuthority) {
  // The same name, so that only the signature differs.
  ExpectNoConnection(IssueFor(NewAuthority(), Role::kOrchestrator));
}

TEST_F(RefusalsTest, WithACertificateThatHasExpired) {
  ExpectNoConnection(IssueFor(mesh_.authority(), Role::kOrchestrator, Expired()));
}

TEST_F(RefusalsTest, WithACertificateThatExpiresWhileTheConnectionIsOpen) {
  const std::string health = "/grpc.health.v1.Health/Check";
  const auto channel = StrangersChannel(
      mesh_.ServerOf("/galen.planning.v1.PlanningService/Screen"), mesh_.authority().certificate,
      IssueFor(mesh_.authority(), Role::kOrchestrator,
               {absl::Now() - absl::Hours(1), absl::Now() + absl::Seconds(6)}));
  grpc::Status status = CallMethod(channel, health, "");
  ASSERT_TRUE(status.ok()) << status.error_message();
  while (status.ok()) status = CallMethod(channel, health, "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(status.error_message(), HasSubstr("expired since it connected"));
}

TEST_F(RefusalsTest, WithACertificateThatIsNotGoodYet) {
  ExpectNoConnection(IssueFor(mesh_.authority(), Role::kOrchestrator,
                              {absl::Now() + absl::Hours(1), absl::Now() + absl::Hours(2)}));
}

TEST_F(RefusalsTest, WithACertificateOfNoIdentity) {
  for (const std::string& uri : {std::string("https://example.org/galen/orchestrator"),
                                 security::IdentityUri("elsewhere.local", Role::kOrchestrator),
                                 std::string("spiffe://test.local/orchestrator"),
                                 security::IdentityUri(kDomain, Role::kOrchestrator) +
                                     ",URI:" + security::IdentityUri(kDomain, Role::kExecution)}) {
    const security::Issued own = security::Issue(mesh_.authority(), uri, GoodNow()).value();
    ExpectOnEveryMethod(
        [&](const std::string& method) {
          return StrangersChannel(mesh_.ServerOf(method), mesh_.authority().certificate, own);
        },
        grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(RefusalsTest, WithAnyRoleThatTheMethodIsNotFor) {
  int refused = 0;
  for (const auto& [name, method] : AllMethods()) {
    for (const Role role : security::AllRoles()) {
      if (FindRule(name)->callers.Has(role)) continue;
      const grpc::Status status =
          CallMethod(mesh_.ChannelOf(role, name), name, RequestOf(*method, "", ""));
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
          << NameOf(role) << " " << name << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr("may not call this"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(RefusalsTest, OfAMethodThatDoesNotExist) {
  for (const auto& [name, method] : AllMethods()) {
    const grpc::Status status =
        CallMethod(mesh_.ChannelOf(Role::kOperator, name), name + "Again", "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << name;
  }
}

TEST_F(RefusalsTest, HealthIsForEveryRoleAndReflectionForOperators) {
  const std::string any = "/galen.planning.v1.PlanningService/Screen";
  for (const Role role : security::AllRoles()) {
    const auto channel = mesh_.ChannelOf(role, any);
    EXPECT_TRUE(CallMethod(channel, "/grpc.health.v1.Health/Check", "").ok()) << NameOf(role);
    const grpc::Status reflected =
        CallMethod(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "");
    EXPECT_EQ(reflected.ok(), role == Role::kOperator)
        << NameOf(role) << ": " << reflected.error_message();
  }
}

TEST_F(RefusalsTest, AClientTalksToNobodyButTheRoleThatItMeans) {
  for (const auto& [name, method] : AllMethods()) {
    for (const Role meant : {Role::kGateway, Role::kPlanning, Role::kNode}) {
      if (meant == mesh_.RoleOf(name)) continue;
      const auto channel =
          rpc::Connect(mesh_.ServerOf(name), mesh_.Of(Role::kOrchestrator), {meant});
      ASSERT_THAT(channel, IsOk());
      EXPECT_EQ(CallMethod(*channel, name, "").error_code(), grpc::StatusCode::UNAVAILABLE) << name;
    }
  }
}

TEST_F(RefusalsTest, ANodeWithANameIsNotTakenForAnotherOne) {
  const CertificateDirectory directory(mesh_.authority());
  directory.Put("node", IssueFor(mesh_.authority(), Role::kNode, GoodNow(), kDomain, "n1"));
  const auto security = rpc::Security::Open({.role = Role::kNode, .directory = directory.path()});
  ASSERT_THAT(security, IsOk());
  int port = 0;
  const auto server =
      rpc::StartServer({.address = "127.0.0.1:0", .security = security->get()}, {}, port);
  ASSERT_THAT(server, IsOk());
  const auto health = [&](const std::string& instance) {
    const auto channel = rpc::Connect(absl::StrCat("127.0.0.1:", port), mesh_.Of(Role::kExecution),
                                      {Role::kNode, instance});
    return CallMethod(*channel, "/grpc.health.v1.Health/Check", "").error_code();
  };
  EXPECT_EQ(health("n1"), grpc::StatusCode::OK);
  EXPECT_EQ(health(""), grpc::StatusCode::OK);
  EXPECT_EQ(health("n2"), grpc::StatusCode::UNAVAILABLE);
  (*server)->Shutdown();
}

TEST(Plaintext, IsForLoopbackAlone) {
  const auto security = rpc::Security::Open({});
  ASSERT_THAT(security, IsOk());
  EXPECT_FALSE((*security)->tls());
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.1.2.3:50051", "galen-planning:50052"}) {
    int port = 0;
    EXPECT_THAT(rpc::StartServer({.address = address, .security = security->get()}, {}, port),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--certs")))
        << address;
    EXPECT_THAT(rpc::StartServer({.address = address}, {}, port),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(address)));
    EXPECT_THAT(rpc::Connect(address, **security, {Role::kPlanning}),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(address)));
  }
  EXPECT_THAT(rpc::Connect("127.0.0.1:1", **security, {Role::kPlanning}), IsOk());
}

}  // namespace
}  // namespace galen::testing
