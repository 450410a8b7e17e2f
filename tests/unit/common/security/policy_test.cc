#include "common/security/policy.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace galen::security {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;

// Services of gRPC itself; not among our protos.
const std::set<std::string> kOfGrpc = {
    "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

// Every method of every proto that is compiled into Galen.
std::map<std::string, const MethodDescriptor*> AllMethods() {
  std::map<std::string, const MethodDescriptor*> methods;
  std::vector<std::string> files;
  DescriptorPool::internal_generated_database()->FindAllFileNames(&files);
  for (const std::string& name : files) {
    const auto* file = DescriptorPool::generated_pool()->FindFileByName(name);
    for (int s = 0; file != nullptr && s < file->service_count(); ++s) {
      const auto* service = file->service(s);
      // Over HTTP alone: no program serves it by gRPC (docs/decisions/012).
      if (service->full_name() == "galen.v1.ActionService" ||
          service->full_name() == "galen.v1.CheckService") {
        continue;
      }
      for (int m = 0; m < service->method_count(); ++m) {
        const MethodDescriptor* method = service->method(m);
        methods[absl::StrCat("/", service->full_name(), "/", method->name())] = method;
      }
    }
  }
  return methods;
}

TEST(Policy, EveryMethodHasALine) {
  const auto methods = AllMethods();
  ASSERT_GE(methods.size(), 23u);  // they were found at all
  for (const auto& [name, method] : methods) {
    EXPECT_NE(FindRule(name), nullptr)
        << name << ": may be called by nobody; give it a line in common/security/policy_table.cc";
  }
  for (const std::string& name : kOfGrpc) EXPECT_NE(FindRule(name), nullptr) << name;
}

TEST(Policy, EveryLineIsOfOneMethod) {
  const auto methods = AllMethods();
  std::set<std::string> seen;
  for (const MethodRule& rule : PolicyTable()) {
    const std::string name(rule.method);
    EXPECT_TRUE(methods.count(name) > 0 || kOfGrpc.count(name) > 0) << name << ": no such method";
    EXPECT_TRUE(seen.insert(name).second) << name << ": has two lines";
  }
}

// A field that comes to a request and names a diagnosis or a tenant must not pass unseen.
TEST(Policy, ATenantsMethodsNameTheFieldThatSaysWhose) {
  for (const auto& [name, method] : AllMethods()) {
    const MethodRule* rule = FindRule(name);
    ASSERT_NE(rule, nullptr) << name;
    if (!rule->tenant_field.empty()) {
      const FieldDescriptor* field =
          method->input_type()->FindFieldByName(std::string(rule->tenant_field));
      ASSERT_NE(field, nullptr) << name << ": its request has no field " << rule->tenant_field;
      EXPECT_EQ(field->type(), FieldDescriptor::TYPE_STRING) << name;
      EXPECT_FALSE(field->is_repeated()) << name;
      EXPECT_FALSE(method->client_streaming()) << name << ": who looks at the later messages?";
      continue;
    }
    // Methods that take no claim: their only callers are programs that have compared the tenant's
    // claim with their own request, and name here what they took from there.
    static const std::map<std::string, Role> kByWordOf = {
        {"/galen.conclusion.v1.ConclusionService/Conclude", Role::kOrchestrator},
        {"/galen.planning.v1.PlanningService/ProposeFromHistory", Role::kOrchestrator},
        {"/galen.planning.v1.PlanningService/ProposeAtOnce", Role::kOrchestrator},
        {"/galen.execution.v1.ExecutionService/RunShare", Role::kExecution}};
    if (const auto known = kByWordOf.find(name); known != kByWordOf.end()) {
      for (const Role role : AllRoles()) {
        EXPECT_EQ(Allowed(role, name), role == known->second) << NameOf(role) << " " << name;
      }
      continue;
    }
    for (const char* word : {"parent", "diagnosis", "tenant"}) {
      EXPECT_EQ(method->input_type()->FindFieldByName(word), nullptr)
          << name << ": has a field " << word << " and no tenant_field in the policy";
    }
  }
}

TEST(Policy, WhatHasNoLineMayBeCalledByNobody) {
  for (const Role role : AllRoles()) {
    for (const char* method :
         {"", "/", "/galen.v1.DiagnosisService/", "/galen.v1.DiagnosisService/Nothing",
          "galen.v1.DiagnosisService/GetDiagnosis", "/galen.v1.DiagnosisService/GetDiagnosis ",
          "/galen.v1.diagnosisservice/getdiagnosis", "/galen.v1.ActionService/ApproveAction",
          "/galen.v1.CheckService/RunChecks"}) {
      EXPECT_FALSE(Allowed(role, method)) << NameOf(role) << " " << method;
    }
  }
}

TEST(Policy, AgentsAreAskedByTheOrchestratorAloneAndNodesByExecution) {
  for (const auto& [name, method] : AllMethods()) {
    const std::string service(method->service()->full_name());
    Roles expected;
    if (service == "galen.v1.DiagnosisService" ||
        service == "galen.execution.v1.ExecutionService" ||
        service == "galen.watch.v1.WatchService" || service == "galen.advisor.v1.AdvisorService") {
      continue;
    }
    expected = service == "galen.node.v1.NodeService" ? Roles{Role::kExecution}
                                                      : Roles{Role::kOrchestrator};
    for (const Role role : AllRoles()) {
      EXPECT_EQ(Allowed(role, name), expected.Has(role)) << NameOf(role) << " " << name;
    }
  }
}

TEST(Policy, HealthEventsAreReportedByEntriesBehindWhichAMonitorStands) {
  for (const Role role : AllRoles()) {
    EXPECT_EQ(Allowed(role, "/galen.watch.v1.WatchService/ReportHealth"),
              Roles({Role::kGateway, Role::kOperator}).Has(role))
        << NameOf(role);
  }
}

TEST(Policy, WhatWasLearnedIsRevokedByAPersonOfTheSiteAlone) {
  for (const Role role : AllRoles()) {
    for (const char* method : {"/galen.advisor.v1.AdvisorService/RevokePattern",
                               "/galen.advisor.v1.AdvisorService/RestorePattern"}) {
      EXPECT_EQ(Allowed(role, method), role == Role::kOperator) << NameOf(role) << " " << method;
    }
    EXPECT_EQ(Allowed(role, "/galen.advisor.v1.AdvisorService/RegisterJob"),
              Roles({Role::kGateway, Role::kOperator, Role::kWatch}).Has(role))
        << NameOf(role);
  }
}

TEST(Policy, AgentsCallNobodyNodesRegisterAndAMonitorAsksForHealthAlone) {
  const std::set<std::string> registration = {"/galen.execution.v1.ExecutionService/RegisterNode",
                                              "/galen.execution.v1.ExecutionService/WithdrawNode"};
  for (const MethodRule& rule : PolicyTable()) {
    const bool health = rule.method.substr(0, 13) == "/grpc.health.";
    const bool registers = registration.count(std::string(rule.method)) > 0;
    for (const Role role : {Role::kSummarization, Role::kPlanning, Role::kNode, Role::kReflection,
                            Role::kConclusion, Role::kAdvisor, Role::kMetrics}) {
      EXPECT_EQ(Allowed(role, rule.method), health || (registers && role == Role::kNode))
          << NameOf(role) << " " << rule.method;
    }
  }
}

TEST(Policy, OnlyAReplicaOfExecutionAsksAnotherOneForItsShare) {
  for (const Role role : AllRoles()) {
    EXPECT_EQ(Allowed(role, "/galen.execution.v1.ExecutionService/RunShare"),
              role == Role::kExecution)
        << NameOf(role);
  }
}

TEST(Policy, NobodyBehindAnEntrySpeaksForTenantsToTheOrchestrator) {
  for (const Role role : AllRoles()) {
    EXPECT_EQ(ClaimIssuers(Role::kOrchestrator).Has(role),
              role == Role::kGateway || role == Role::kOperator || role == Role::kWatch);
    EXPECT_EQ(ClaimIssuers(Role::kExecution).Has(role),
              role == Role::kOrchestrator || role == Role::kOperator || role == Role::kGateway);
    EXPECT_FALSE(ClaimIssuers(Role::kPlanning).Has(role));
  }
}

}  // namespace
}  // namespace galen::security
