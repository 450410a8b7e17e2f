#include "services/gateway/audience/audience.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::gateway {
namespace {

Audience Shipped() { return *Audience::Load(*knowledge::FindDirectories({})); }

std::string Shown(const std::string& excerpt, const std::string& tenant = "acme") {
  galen::v1::CheckResult result;
  result.set_excerpt(excerpt);
  Shipped().ForCustomer(tenant, result);
  return result.excerpt();
}

TEST(Audience, ACustomerDoesNotSeeSerialNumbersWhereverTheyStand) {
  galen::v1::Diagnosis diagnosis;
  const auto serial = [](galen::v1::Device& device) {
    device.set_node("n1");
    device.set_serial("1652921000001");
  };
  serial(*diagnosis.add_check_results()->add_findings()->mutable_subject());
  galen::v1::Report& report = *diagnosis.mutable_report();
  serial(*report.mutable_primary_cause()->add_devices());
  serial(*report.add_ruled_out()->add_devices());
  serial(*report.add_evidence()->mutable_subject());
  report.mutable_evidence(0)->set_excerpt("GPU Serial Number : 1652921000001\nTemp : 40 C");
  report.set_ticket("replace gpu:1, serial 1652921000001 (serial: 1652921000001)");
  serial(*diagnosis.add_hypotheses()->mutable_verdict()->add_devices());
  Shipped().ForCustomer("acme", diagnosis);
  EXPECT_EQ(diagnosis.report().evidence(0).excerpt(),
            "GPU Serial Number : [redacted]\nTemp : 40 C");
  EXPECT_EQ(diagnosis.report().primary_cause().devices(0).node(), "n1");
  EXPECT_EQ(diagnosis.report().ticket(), "replace gpu:1, serial [redacted] (serial: [redacted])");
  EXPECT_FALSE(absl::StrContains(diagnosis.DebugString(), "1652921000001"))
      << diagnosis.DebugString();
}

TEST(Audience, TextsLoseWhatIsTheProvidersAndKeepTheRest) {
  const struct {
    const char* text;
    const char* shown;
  } kCases[] = {
      {"Serial Number                         : 1320623012345",
       "Serial Number                         : [redacted]"},
      {R"({"serial": "1320623012345", "uuid": "GPU-1"})",
       R"({"serial": "[redacted]", "uuid": "GPU-1"})"},
      {"S/N: AB12345", "S/N: [redacted]"},
      {"serial console: ttyS0", "serial console: ttyS0"},
      {"Serializing: checkpoint", "Serializing: checkpoint"},
      {"serialno 17 of 20", "serialno 17 of 20"},
      {"ipmi: rack7-n3-bmc.mgmt did not answer", "ipmi: [redacted] did not answer"},
      {"asked ntp1.dc4.internal, no answer", "asked [redacted], no answer"},
      {"NCCL INFO NET/IB : Using [0]mlx5_0:1/IB", "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB"},
      {"node-17.example.com: Xid 79", "node-17.example.com: Xid 79"},
      {"as in tenants/globex/diagnoses/d7, too", "as in tenants/[redacted], too"},
      {"as in tenants/acme/diagnoses/d7, too", "as in tenants/acme/diagnoses/d7, too"},
      {"tenants/", "tenants/"},
  };
  for (const auto& expected : kCases) EXPECT_EQ(Shown(expected.text), expected.shown);
}

TEST(Audience, WhatTheCustomerSaidItselfStaysAsItWas) {
  galen::v1::DiagnosisEvent event;
  galen::v1::Incident& incident = *event.mutable_created()->mutable_incident();
  incident.set_description("card with serial: 1652921000001 again; tenants/globex has it, too");
  incident.add_logs()->set_content("serial: 1652921000001");
  const std::string before = event.SerializeAsString();
  Shipped().ForCustomer("acme", event);
  EXPECT_EQ(event.SerializeAsString(), before);
}

TEST(Audience, AWrongRuleIsNamedWithItsLine) {
  for (const char* rule : {"withhold galen.v1.Device.colour", "own galen.v1.Nothing",
                           "replace number", "replace number (", "hide galen.v1.Device.serial"}) {
    const auto parsed =
        Audience::Parse(absl::StrCat("# head\n\n", rule, "\n"), "site/audience.txt");
    ASSERT_FALSE(parsed.ok()) << rule;
    EXPECT_TRUE(absl::StrContains(parsed.status().message(), "site/audience.txt:3: "))
        << parsed.status();
  }
}

TEST(Audience, WithoutRulesThereIsNothingToShow) {
  EXPECT_TRUE(absl::IsNotFound(Audience::Load({}).status()));
}

}  // namespace
}  // namespace galen::gateway
