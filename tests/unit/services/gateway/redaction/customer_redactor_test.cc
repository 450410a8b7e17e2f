#include "services/gateway/redaction/customer_redactor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/load.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::gateway {
namespace {

// One check for each level of what customers see.
knowledge::v1::KnowledgeBase Checks() {
  using knowledge::v1::Check;
  knowledge::v1::KnowledgeBase base;
  for (const auto& [name, sees] : {std::pair{"open.check", Check::EXCERPT},
                                   std::pair{"usual.check", Check::AUDIENCE_UNSPECIFIED},
                                   std::pair{"closed.check", Check::VERDICT}}) {
    Check& check = *base.add_checks();
    check.set_name(name);
    check.set_customer_sees(sees);
  }
  return base;
}

CustomerRedactor Shipped() {
  CustomerRedactor redactor = *CustomerRedactor::Load(*knowledge::FindDirectories({}));
  redactor.Use(Checks());
  return redactor;
}

std::string Shown(const std::string& excerpt, const std::string& tenant = "acme") {
  galen::v1::CheckResult result;
  result.set_check("open.check");
  result.set_excerpt(excerpt);
  Shipped().ForCustomer(tenant, result);
  return result.excerpt();
}

// A check's texts may contain the names of other people's processes.
constexpr char kForeign[] = "backup of globexusr";

galen::v1::CheckResult Result(const std::string& check) {
  galen::v1::CheckResult result;
  result.set_id(absl::StrCat(check, "@n1"));
  result.set_check(check);
  result.set_node("n1");
  result.set_status(galen::v1::CheckResult::FAIL);
  result.set_message(absl::StrCat(kForeign, " takes a core"));
  result.set_excerpt(absl::StrCat("root ", kForeign, " --pass <x>\nsecond line of ", kForeign));
  galen::v1::Finding& finding = *result.add_findings();
  finding.set_name("busiest");
  finding.set_text_value(kForeign);
  finding.set_expected(absl::StrCat("not ", kForeign));
  finding.set_abnormal(true);
  finding.mutable_subject()->set_node("n1");
  finding.mutable_subject()->set_device(absl::StrCat("process:", kForeign));
  result.add_wanted(kForeign);
  return result;
}

// All that a diagnosis says by that check, and the same as events.
galen::v1::Diagnosis DiagnosisBy(const std::string& check) {
  galen::v1::Diagnosis diagnosis;
  *diagnosis.add_check_results() = Result(check);
  galen::v1::Reason& reason = *diagnosis.add_hypotheses()->mutable_verdict()->add_reasons();
  reason.set_direction(galen::v1::Reason::SUPPORTS);
  reason.set_text(absl::StrCat(check, ": busiest is ", kForeign));
  reason.add_evidence_ids(Result(check).id());
  *reason.mutable_finding() = Result(check).findings(0);
  galen::v1::Report& report = *diagnosis.mutable_report();
  report.mutable_primary_cause()->set_label("A.B.C");
  report.mutable_primary_cause()->set_explanation(reason.text());
  report.mutable_primary_cause()->add_evidence_ids(Result(check).id());
  galen::v1::Evidence& evidence = *report.add_evidence();
  evidence.set_id(Result(check).id());
  evidence.set_kind("check");
  evidence.set_text(Result(check).message());
  evidence.set_excerpt(Result(check).excerpt());
  *evidence.mutable_subject() = Result(check).findings(0).subject();
  report.set_ticket(absl::StrCat("# Head\n\n> root ", kForeign,
                                 " --pass &lt;x>\n> second line...\n", "> own words\n"));
  return diagnosis;
}

bool Tells(const google::protobuf::Message& message) {
  return absl::StrContains(message.DebugString(), "globexusr") ||
         absl::StrContains(message.DebugString(), "second line");
}

TEST(CustomerRedactor, OfACheckThatKeepsToItselfTheVerdictAloneIsShown) {
  for (const char* check : {"closed.check", "unknown.check"}) {
    galen::v1::Diagnosis diagnosis = DiagnosisBy(check);
    Shipped().ForCustomer("acme", diagnosis);
    EXPECT_FALSE(Tells(diagnosis)) << diagnosis.DebugString();
    EXPECT_EQ(diagnosis.check_results(0).status(), galen::v1::CheckResult::FAIL);
    EXPECT_TRUE(diagnosis.check_results(0).findings(0).abnormal());
    EXPECT_EQ(diagnosis.check_results(0).findings(0).name(), "busiest");
    EXPECT_EQ(diagnosis.report().primary_cause().label(), "A.B.C");
    EXPECT_TRUE(absl::StrContains(diagnosis.report().ticket(), "> own words"));
    // An event has no more around it than itself.
    galen::v1::DiagnosisEvent checked;
    *checked.mutable_check_completed()->mutable_result() = Result(check);
    galen::v1::DiagnosisEvent judged;
    *judged.mutable_verdicts_given()->add_verdicts() = DiagnosisBy(check).hypotheses(0).verdict();
    galen::v1::DiagnosisEvent concluded;
    *concluded.mutable_concluded()->mutable_report() = DiagnosisBy(check).report();
    for (galen::v1::DiagnosisEvent* event : {&checked, &judged, &concluded}) {
      Shipped().ForCustomer("acme", *event);
      EXPECT_FALSE(Tells(*event)) << event->DebugString();
    }
  }
}

TEST(CustomerRedactor, RawOutputIsShownWhereTheCheckSaysSo) {
  galen::v1::Diagnosis usual = DiagnosisBy("usual.check");
  Shipped().ForCustomer("acme", usual);
  EXPECT_EQ(usual.check_results(0).excerpt(), "");
  EXPECT_EQ(usual.report().evidence(0).excerpt(), "");
  EXPECT_FALSE(absl::StrContains(usual.report().ticket(), "--pass"));
  EXPECT_EQ(usual.check_results(0).findings(0).text_value(), kForeign);
  galen::v1::Diagnosis open = DiagnosisBy("open.check");
  Shipped().ForCustomer("acme", open);
  EXPECT_EQ(open.check_results(0).excerpt(), Result("open.check").excerpt());
  EXPECT_EQ(open.report().ticket(), DiagnosisBy("open.check").report().ticket());
}

TEST(CustomerRedactor, WhyACheckDidNotRunIsNotWhatItSaw) {
  galen::v1::CheckResult result;
  result.set_check("closed.check");
  result.set_status(galen::v1::CheckResult::SKIPPED);
  result.set_message("ps was not captured");
  Shipped().ForCustomer("acme", result);
  EXPECT_EQ(result.message(), "ps was not captured");
}

TEST(CustomerRedactor, BeforeTheChecksAreKnownNothingIsShownOfThem) {
  galen::v1::Diagnosis diagnosis = DiagnosisBy("open.check");
  CustomerRedactor::Load(*knowledge::FindDirectories({}))->ForCustomer("acme", diagnosis);
  EXPECT_FALSE(Tells(diagnosis)) << diagnosis.DebugString();
}

// Every shipped check that lists who else uses the machine says so.
TEST(CustomerRedactor, TheShippedChecksKeepOtherUsersToTheProvider) {
  const auto loaded = knowledge::Load(*knowledge::FindDirectories({}), {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  for (const char* name : {"system.process_load", "gpu.processes", "history.node",
                           "history.changes", "system.cmdline", "system.boot_history"}) {
    EXPECT_EQ((*loaded)->FindCheck(name)->customer_sees(), knowledge::v1::Check::VERDICT) << name;
  }
  for (const auto& check : (*loaded)->base().checks()) {
    const bool lists_users =
        std::any_of(check.reads().begin(), check.reads().end(), [](const std::string& reads) {
          return absl::StartsWith(reads, "ps ") || reads == "nft list ruleset";
        });
    EXPECT_FALSE(lists_users && check.customer_sees() == knowledge::v1::Check::EXCERPT)
        << check.name();
  }
}

TEST(CustomerRedactor, ACustomerDoesNotSeeSerialNumbersWhereverTheyStand) {
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
  report.mutable_evidence(0)->set_id("open.check@n1");
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

TEST(CustomerRedactor, TextsLoseWhatIsTheProvidersAndKeepTheRest) {
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

TEST(CustomerRedactor, WhatTheCustomerSaidItselfStaysAsItWas) {
  galen::v1::DiagnosisEvent event;
  galen::v1::Incident& incident = *event.mutable_created()->mutable_incident();
  incident.set_description("card with serial: 1652921000001 again; tenants/globex has it, too");
  incident.add_logs()->set_content("serial: 1652921000001");
  const std::string before = event.SerializeAsString();
  Shipped().ForCustomer("acme", event);
  EXPECT_EQ(event.SerializeAsString(), before);
}

TEST(CustomerRedactor, AWrongRuleIsNamedWithItsLine) {
  for (const char* rule : {"withhold galen.v1.Device.colour", "own galen.v1.Nothing",
                           "replace number", "replace number (", "hide galen.v1.Device.serial"}) {
    const auto parsed =
        CustomerRedactor::Parse(absl::StrCat("# head\n\n", rule, "\n"), "site/audience.txt");
    ASSERT_FALSE(parsed.ok()) << rule;
    EXPECT_TRUE(absl::StrContains(parsed.status().message(), "site/audience.txt:3: "))
        << parsed.status();
  }
}

TEST(CustomerRedactor, WithoutRulesThereIsNothingToShow) {
  EXPECT_TRUE(absl::IsNotFound(CustomerRedactor::Load({}).status()));
}

}  // namespace
}  // namespace galen::gateway
