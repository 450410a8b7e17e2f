// Signatures and bodies as vendors publish them, in ../shared/facts/payloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/gateway/webhooks/payload_parser.h"
#include "services/gateway/webhooks/signature.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::IsOk;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path kPayloads =
    std::filesystem::path(GALEN_SOURCE_DIR).parent_path() / "shared/facts/payloads";

std::string ReadPayload(const std::string& name) {
  std::ifstream in(kPayloads / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class Payloads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kPayloads)) {
      GTEST_SKIP() << kPayloads << " is not there: vendors' payloads are not tested";
    }
  }
};

// The scheme of a vector, by the beginning of its name.
const std::map<std::string, std::pair<std::string, std::string>> kSchemes = {
    {"github", {"github", "signature"}},
    {"atlassian", {"jira", "signature"}},
    {"jira", {"jira", "signature"}},
    {"slack", {"slack", "signature"}},
    {"pagerduty", {"pagerduty", "signature"}},
    {"standard_webhooks_ed25519", {"standard-webhooks", "asymmetric"}},
    {"standard_webhooks", {"standard-webhooks", "symmetric"}},
    {"servicenow", {"servicenow", "standard-webhooks"}},
    {"negative", {"standard-webhooks", "symmetric"}},
    {"grafana_timestamp", {"grafana", "signature-with-time"}},
    {"grafana_tiny", {"grafana", "signature"}},
    {"grafana_body", {"grafana", "signature"}},
};

const Scheme& SchemeFor(const std::string& vector) {
  const std::pair<const std::string, std::pair<std::string, std::string>>* best = nullptr;
  for (const auto& entry : kSchemes) {
    const bool fits = vector.compare(0, entry.first.size(), entry.first) == 0;
    if (fits && (best == nullptr || entry.first.size() > best->first.size())) best = &entry;
  }
  EXPECT_NE(best, nullptr) << "no scheme is tested with " << vector;
  return SchemeOf(best->second.first, best->second.second);
}

TEST_F(Payloads, PublishedSignatureVectorsVerify) {
  int valid = 0;
  int invalid = 0;
  const json vectors = json::parse(ReadPayload("vectors.json"));
  for (const json& vector : vectors["vectors"]) {
    const std::string name = vector["name"];
    Scheme scheme = SchemeFor(name);
    if (name == "grafana_tiny_composed") scheme.header = "X-Signature";
    http::Request request = Post(vector.contains("body") ? vector["body"].get<std::string>()
                                                         : ReadPayload(vector["body_file"]));
    for (const auto& [header, value] : vector["headers"].items()) {
      request.headers.Add(header, value.get<std::string>());
    }
    absl::Time sent = absl::UnixEpoch();
    if (!scheme.timestamp_header.empty()) {
      std::int64_t seconds = 0;
      ASSERT_TRUE(absl::SimpleAtoi(request.headers.Get(scheme.timestamp_header), &seconds)) << name;
      sent = absl::FromUnixSeconds(seconds);
    }
    const auto key = Key::Make(scheme, vector["secret"].get<std::string>());
    ASSERT_THAT(key, IsOk()) << name;
    const absl::Status status = Verify(scheme, {&*key, 1}, request, sent + absl::Seconds(10));
    EXPECT_EQ(status.ok(), vector["valid"].get<bool>()) << name << ": " << status;
    ++(vector["valid"].get<bool>() ? valid : invalid);
    if (!vector["valid"].get<bool>()) continue;
    // And similar texts do not.
    for (std::size_t at = 0; at < request.body.size(); at += 1 + request.body.size() / 64) {
      http::Request bad = request;
      bad.body[at] = static_cast<char>(bad.body[at] ^ 1);
      EXPECT_FALSE(Verify(scheme, {&*key, 1}, bad, sent).ok()) << name << ", byte " << at;
    }
    if (!scheme.timestamp_header.empty()) {
      EXPECT_FALSE(Verify(scheme, {&*key, 1}, request, sent + absl::Minutes(5)).ok()) << name;
      EXPECT_FALSE(Verify(scheme, {&*key, 1}, request, sent - absl::Minutes(5)).ok()) << name;
    }
  }
  EXPECT_GE(valid, 14);
  EXPECT_GE(invalid, 2);
}

struct Expected {
  std::string sender;
  std::vector<v1::WebhookEvent::Action> actions;
  std::string description;  // is in it
  std::vector<std::string> nodes;
  std::map<std::string, std::string> attributes;  // are among them
};

TEST_F(Payloads, InboundBodiesAreRead) {
  using E = v1::WebhookEvent;
  const std::map<std::string, Expected> expected = {
      {"alertmanager.webhook.firing.json",
       {"alertmanager",
        {E::OPEN},
        "firing: NCCLCollectiveStalled No collective progress for 600 s",
        {"ord1-gpu-0173"},
        {{"severity", "critical"},
         {"alerts", "GPUXidError, NCCLCollectiveStalled"},
         {"link.runbook", "https://runbooks.example.com/gpu/xid-79"}}}},
      {"alertmanager.webhook.resolved.json", {"alertmanager", {E::CLOSE}, "", {}, {}}},
      {"grafana.webhook.firing.json",
       {"grafana", {E::OPEN}, "Xid 79 on ord1-gpu-0173 GPU 3", {"ord1-gpu-0173"}, {}}},
      {"pagerduty.v3.incident.triggered.json",
       {"pagerduty",
        {E::OPEN},
        "[ord1-h100] Xid 79 on ord1-gpu-0173 GPU 3",
        {},
        {{"ticket.system", "pagerduty"}, {"ticket.id", "Q2W9GPU7XK41RT"}}}},
      {"pagerduty.v3.vendor_vector.json", {"pagerduty", {E::UPDATE}, "", {}, {}}},
      {"servicenow.business_rule.inbound.json",
       {"servicenow",
        {E::OPEN},
        "Training job llm70b-pretrain-8841 hung on ord1-h100",
        {"ord1-gpu-0173"},
        {{"ticket.key", "INC0091472"}}}},
      {"jira.webhook.issue_created.json",
       {"jira",
        {E::OPEN},
        "Watchdog caught collective operation timeout",
        {},
        {{"ticket.key", "GPU-2291"}}}},
      {"jira.webhook.issue_updated.json", {"jira", {E::UPDATE}, "", {}, {}}},
      {"github.webhook.issues.opened.json",
       {"github",
        {E::OPEN},
        "NCCL watchdog timeout on 70B run, rank 21",
        {},
        {{"ticket.key", "312"}, {"repository", "acme/llm-train"}}}},
      {"opsgenie.webhook.create.json",
       {"opsgenie",
        {E::OPEN},
        "DCGM_FI_DEV_XID_ERRORS reported 79",
        {"ord1-gpu-0173"},
        {{"ticket.id", "052652ac-5d1c-464a-812a-7dd18bbfba8c"}, {"severity", "P1"}}}},
      {"azure.common_alert.fired.json",
       {"azure-monitor", {E::OPEN}, "Xid critical on ND H100 v5", {"nd-h100-v5_17"}, {}}},
      {"slack.slash_command.json",
       {"slack", {E::OPEN}, "job llm70b-pretrain-8841 cluster ord1-h100", {}, {}}},
      {"nvsentinel.cloudevent.json",
       {"nvsentinel",
        {E::OPEN},
        "79, GPU has fallen off the bus",
        {"ord1-gpu-0173"},
        {{"cluster", "ord1-h100"}}}},
      {"nvsentinel.health_events.json",
       {"nvsentinel-health-events", {E::OPEN}, "Error codes: 79", {"ord1-gpu-0173"}, {}}},
      {"standard_webhooks.diagnosis_completed.json", {"standard-webhooks", {}, "", {}, {}}},
      // Buttons are not events of ours: they are ignored.
      {"slack.block_actions.json", {"slack", {}, "", {}, {}}},
  };
  const json index = json::parse(ReadPayload("index.json"));
  int read = 0;
  for (const json& entry : index["files"]) {
    const std::string file = entry["file"];
    const std::string direction = entry["direction"];
    if (direction.compare(0, 7, "inbound") != 0 && expected.count(file) == 0) continue;
    ASSERT_EQ(expected.count(file), 1U) << file << " comes in, and is not tested";
    const Expected& wanted = expected.at(file);
    http::Request request = Post(ReadPayload(file));
    if (file == "slack.slash_command.json") request.body = json::parse(request.body)["raw_body"];
    if (file == "slack.block_actions.json") request.body = "payload=%7B%7D";
    if (file == "github.webhook.issues.opened.json")
      request.headers.Add("X-GitHub-Event", "issues");
    if (wanted.sender == "standard-webhooks") request.headers.Add("webhook-id", "msg_1");
    const auto reading = ParseDelivery(EndpointOf(wanted.sender), request);
    ASSERT_THAT(reading, IsOk()) << file;
    ASSERT_EQ(reading->events.size(), wanted.actions.size()) << file;
    for (std::size_t i = 0; i < wanted.actions.size(); ++i) {
      const v1::WebhookEvent& event = reading->events[i];
      EXPECT_EQ(event.action(), wanted.actions[i]) << file;
      if (event.action() != E::OPEN) continue;
      const galen::v1::Incident& incident = event.request().diagnosis().incident();
      EXPECT_EQ(event.request().parent(), "tenants/acme");
      EXPECT_THAT(incident.description(), HasSubstr(wanted.description)) << file;
      EXPECT_THAT(std::vector<std::string>(incident.nodes().begin(), incident.nodes().end()),
                  ::testing::ElementsAreArray(wanted.nodes))
          << file;
      for (const auto& [name, value] : wanted.attributes) {
        const auto& attributes = incident.environment().attributes();
        ASSERT_EQ(attributes.count(name), 1U) << file << ": " << name;
        EXPECT_EQ(attributes.at(name), value) << file;
      }
    }
    ++read;
  }
  EXPECT_EQ(read, static_cast<int>(expected.size()));
}

TEST_F(Payloads, AResolvedGroupIsTheIncidentThatFired) {
  const Endpoint endpoint = EndpointOf("alertmanager");
  const auto fired = ParseDelivery(endpoint, Post(ReadPayload("alertmanager.webhook.firing.json")));
  const auto resolved =
      ParseDelivery(endpoint, Post(ReadPayload("alertmanager.webhook.resolved.json")));
  ASSERT_THAT(fired, IsOk());
  ASSERT_THAT(resolved, IsOk());
  EXPECT_EQ(fired->events[0].incident(), resolved->events[0].incident());
  EXPECT_NE(fired->events[0].event(), resolved->events[0].event());
}

}  // namespace
}  // namespace galen::gateway::webhooks
