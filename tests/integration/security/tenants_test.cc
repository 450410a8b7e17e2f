// A call is made for the tenant whose claim it carries, and for no other one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/clients/grpc_clients.h"
#include "common/observability/trace/trace.h"
#include "common/security/claims/signer.h"
#include "common/security/policy.h"
#include "tests/integration/security/mesh.h"
#include "tests/testing/status_matchers.h"

namespace galen::testing {
namespace {

using security::FindRule;
using security::Role;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kOurs[] = "tenants/ours/diagnoses/d";
constexpr char kTheirs[] = "tenants/theirs/diagnoses/d";

class TenantsTest : public ::testing::Test {
 protected:
  grpc::Status Call(Role role, const std::string& name, const std::string& resource,
                    const std::string& claim) {
    const auto* method = AllMethods().at(name);
    return CallMethod(mesh_.ChannelOf(role, name), name,
                      RequestOf(*method, std::string(FindRule(name)->tenant_field), resource),
                      claim);
  }
  SecureMesh mesh_;
};

TEST_F(TenantsTest, AClaimOfAnotherTenantIsRefusedOnEveryMethod) {
  for (const auto& [name, method] : AllMethods()) {
    for (const Role role : security::AllRoles()) {
      if (!FindRule(name)->callers.Has(role)) continue;
      const bool tenants = !FindRule(name)->tenant_field.empty();
      const std::string theirs = mesh_.Of(role).ClaimFor(kTheirs, mesh_.RoleOf(name));
      ASSERT_NE(theirs, "");
      const grpc::Status status = Call(role, name, tenants ? kOurs : "", theirs);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
          << NameOf(role) << " " << name << ": " << status.error_message();
      EXPECT_THAT(status.error_message(),
                  HasSubstr(tenants ? "claim of another tenant" : "takes no claim"));
    }
  }
}

TEST_F(TenantsTest, AClaimOfTheTenantGetsThrough) {
  int tenants = 0;
  for (const auto& [name, method] : AllMethods()) {
    if (FindRule(name)->tenant_field.empty()) continue;
    ++tenants;
    for (const Role role : security::AllRoles()) {
      if (!FindRule(name)->callers.Has(role)) continue;
      const std::string resource =
          FindRule(name)->tenant_field == "parent" ? "tenants/ours" : kOurs;
      const grpc::Status status =
          Call(role, name, resource, mesh_.Of(role).ClaimFor(kOurs, mesh_.RoleOf(name)));
      EXPECT_THAT(status.error_code(), AnyOf(grpc::StatusCode::OK, grpc::StatusCode::NOT_FOUND,
                                             grpc::StatusCode::INVALID_ARGUMENT))
          << NameOf(role) << " " << name << ": " << status.error_message();
    }
  }
  EXPECT_EQ(tenants, 14);
}

TEST_F(TenantsTest, WithoutAClaimNothingOfATenantIsTouched) {
  for (const auto& [name, method] : AllMethods()) {
    if (FindRule(name)->tenant_field.empty()) continue;
    for (const Role role : security::AllRoles()) {
      if (!FindRule(name)->callers.Has(role)) continue;
      const grpc::Status status = Call(role, name, kOurs, "");
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED)
          << NameOf(role) << " " << name << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr("carries no claim"));
    }
  }
}

TEST_F(TenantsTest, AResourceOfNoTenantIsForOperatorsAlone) {
  for (const auto& [name, method] : AllMethods()) {
    if (FindRule(name)->tenant_field.empty()) continue;
    for (const Role role : security::AllRoles()) {
      if (!FindRule(name)->callers.Has(role)) continue;
      for (const std::string& claim :
           {std::string(), mesh_.Of(role).ClaimFor(kOurs, mesh_.RoleOf(name))}) {
        const bool denied =
            Call(role, name, "", claim).error_code() == grpc::StatusCode::PERMISSION_DENIED;
        EXPECT_EQ(denied, role != Role::kOperator || !claim.empty()) << NameOf(role) << " " << name;
      }
    }
  }
}

TEST_F(TenantsTest, ClaimsThatNobodyMayMakeAreRefused) {
  const SystemClock clock;
  const auto signed_by = [&](const security::Issued& authority, Role role, Role audience) {
    security::ClaimSigner signer(clock);
    // The second time, so that the claim carries its certificate.
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(signer.Use(CredentialsOf(authority, IssueFor(authority, role), role)), IsOk());
    }
    return signer.For("ours", audience).value();
  };
  for (const auto& [name, method] : AllMethods()) {
    if (FindRule(name)->tenant_field.empty()) continue;
    const Role audience = mesh_.RoleOf(name);
    for (const std::string& claim :
         {signed_by(mesh_.authority(), Role::kNode, audience),
          signed_by(mesh_.authority(), Role::kOperator, Role::kPlanning),
          signed_by(NewAuthority(), Role::kOperator, audience), std::string("garbage")}) {
      const grpc::Status status = Call(Role::kOperator, name, kOurs, claim);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << name;
      EXPECT_THAT(status.error_message(), HasSubstr("claim of a tenant:")) << name;
    }
  }
}

TEST(Audit, EveryCallIsWrittenAndWhoWasRefusedToo) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/galen-audit-", getpid(), ".jsonl");
  int calls = 0;
  {
    SecureMesh mesh(path);
    for (const auto& [name, method] : AllMethods()) {
      for (const Role role : {Role::kOperator, Role::kOrchestrator}) {
        const std::string field(FindRule(name)->tenant_field);
        const std::string claim =
            field.empty() ? "" : mesh.Of(role).ClaimFor(kOurs, mesh.RoleOf(name));
        CallMethod(mesh.ChannelOf(role, name), name, RequestOf(*method, field, kOurs), claim);
        ++calls;
      }
    }
    CallMethod(mesh.ChannelOf(Role::kMetrics, "/galen.v1.DiagnosisService/GetDiagnosis"),
               "/grpc.health.v1.Health/Check", "");
  }
  std::ifstream file(path);
  int refused = 0;
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const nlohmann::json record = nlohmann::json::parse(line);
    const std::string method = record["method"];
    const auto peer = security::ParseIdentity(record["peer"].get_ref<const std::string&>());
    ASSERT_TRUE(peer.has_value()) << line;
    if (security::Allowed(peer->role, method)) {
      const bool tenants = !FindRule(method)->tenant_field.empty();
      EXPECT_EQ(record.value("resource", ""), tenants ? kOurs : "") << line;
      EXPECT_NE(record["outcome"], "PERMISSION_DENIED") << line;
      EXPECT_THAT(record.value("address", ""), HasSubstr("127.0.0.1")) << line;
    } else {
      EXPECT_EQ(record["outcome"], "PERMISSION_DENIED") << line;
      EXPECT_THAT(record.value("reason", ""), HasSubstr("may not call")) << line;
      ++refused;
    }
  }
  EXPECT_EQ(lines, calls);
  EXPECT_GT(refused, 10);
  std::filesystem::remove(path);
}

TEST_F(TenantsTest, AnAskerThatTheClaimDoesNotNameIsRefused) {
  constexpr char kGet[] = "/galen.v1.DiagnosisService/GetDiagnosis";
  const auto call = [&](const std::string& claimed, const std::string& named) {
    std::string claim;
    {
      trace::Work work;
      work.asker = claimed;
      const trace::Scope scope(work);
      claim = mesh_.Of(Role::kGateway).ClaimFor(kOurs, Role::kOrchestrator);
    }
    return CallMethod(mesh_.ChannelOf(Role::kGateway, kGet), kGet,
                      RequestOf(*AllMethods().at(kGet), "name", kOurs), claim, named);
  };
  EXPECT_EQ(call("key/7 (customer)", "key/7 (customer)").error_code(), grpc::StatusCode::NOT_FOUND);
  for (const auto& [claimed, named] :
       {std::pair<std::string, std::string>{"key/7 (customer)", "key/8 (customer)"},
        {"key/7 (customer)", ""},
        {"", "key/8 (customer)"}}) {
    const grpc::Status status = call(claimed, named);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << claimed << named;
    EXPECT_THAT(status.error_message(), HasSubstr("another asker"));
  }
}

TEST(Audit, SaysForWhomACallIsMadeAndBelievesItOfTheRightPeersAlone) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/galen-asker-", getpid(), ".jsonl");
  constexpr char kGet[] = "/galen.v1.DiagnosisService/GetDiagnosis";
  constexpr char kNodes[] = "/galen.execution.v1.ExecutionService/RegisterNode";  // a node's alone
  constexpr char kAsker[] = "key/7 (customer)";
  {
    SecureMesh mesh(path);
    for (const Role role : {Role::kGateway, Role::kOrchestrator, Role::kOperator}) {
      trace::Work work;
      if (role != Role::kOperator) work.asker = kAsker;
      const trace::Scope scope(work);
      for (const std::string& name : {std::string(kGet), std::string(kNodes)}) {
        const std::string field(FindRule(name)->tenant_field);
        const std::string claim =
            field.empty() ? "" : mesh.Of(role).ClaimFor(kOurs, mesh.RoleOf(name));
        CallMethod(mesh.ChannelOf(role, name), name,
                   RequestOf(*AllMethods().at(name), field, kOurs), claim, kAsker);
      }
    }
  }
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const nlohmann::json record = nlohmann::json::parse(line);
    const auto peer = security::ParseIdentity(record["peer"].get_ref<const std::string&>());
    ASSERT_TRUE(peer.has_value()) << line;
    EXPECT_EQ(record.value("asker", ""), peer->role == Role::kOperator ? "" : kAsker) << line;
  }
  EXPECT_EQ(lines, 6);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace galen::testing
