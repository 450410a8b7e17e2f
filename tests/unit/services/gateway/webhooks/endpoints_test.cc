#include "services/gateway/webhooks/endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::string> ReadFakeSecret(const std::string& path) {
  if (path == "/etc/galen/good") return "a-secret-of-enough-bytes\n";
  if (path == "/etc/galen/short") return "short";
  if (path == "/etc/galen/empty") return "\n";
  return absl::NotFoundError(path + ": there is no such file");
}

absl::StatusOr<Site> Parse(const std::string& text) {
  return ParseSite(text, "/etc/galen/hooks.yaml", ShippedSenders(), &ReadFakeSecret);
}

TEST(EndpointsTest, ReadsASite) {
  const auto site = Parse(R"(endpoints:
  - endpoint: alerts
    sender: alertmanager
    tenant: acme
    scheme: header
    secrets: [good, /etc/galen/good]
    nodes: ["ord1-*"]
    default_nodes: [ord1-1]
    only: [{at: /commonLabels/severity, is: [critical, page]}]
    strategy: taxonomy
  - {endpoint: issues, sender: github, tenant: acme, secrets: [good], own_authors: ["galen[bot]"],
     poll: {settings: {repository: acme/llm}, token: good, every: 5m}}
  - {endpoint: dashboards, sender: grafana, tenant: other, secrets: [good], header: X-Sig, timestamp_header: X-Time}
)");
  ASSERT_THAT(site, IsOk());
  const Endpoint& alerts = site->endpoints.at("alerts");
  EXPECT_EQ(alerts.sender->name, "alertmanager");
  EXPECT_EQ(alerts.scheme.header, "X-Galen-Token");
  EXPECT_EQ(alerts.keys.size(), 2U);
  EXPECT_EQ(alerts.keys[0].bytes(), "a-secret-of-enough-bytes");
  EXPECT_TRUE(alerts.MayName("ord1-gpu-7"));
  EXPECT_FALSE(alerts.MayName("ord2-gpu-7"));
  const Endpoint& issues = site->endpoints.at("issues");
  ASSERT_TRUE(issues.poll.has_value());
  EXPECT_EQ(issues.poll->settings.at("base"), "https://api.github.com");
  EXPECT_EQ(issues.poll->token, "a-secret-of-enough-bytes");
  EXPECT_EQ(issues.poll->every, absl::Minutes(5));
  EXPECT_EQ(site->endpoints.at("dashboards").scheme.header, "X-Sig");
  EXPECT_EQ(site->endpoints.at("dashboards").scheme.timestamp_header, "X-Time");
  EXPECT_TRUE(site->warnings.empty());
}

TEST(EndpointsTest, SaysFileAndLineOfWhatIsWrong) {
  const std::string begin =
      "endpoints:\n  - endpoint: a\n    sender: alertmanager\n    tenant: acme\n";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"", "hooks.yaml:1: error: a file of endpoints"},
      {"endpoints: []\n", "there is no endpoint"},
      {begin, "has no secret: anybody could send"},
      {begin + "    secrets: [nowhere]\n",
       "hooks.yaml:5: error: /etc/galen/nowhere: there is no such file"},
      {begin + "    secrets: [empty]\n", "hooks.yaml:5: error: empty: the secret is empty"},
      {begin + "    secrets: [good]\n    scheme: bearrer\n", "did you mean \"bearer\""},
      {begin + "    secrets: [good]\n    sekrets: [good]\n", "unknown key \"sekrets\""},
      {begin + "    secrets: [good]\n    poll: {}\n", "cannot be polled"},
      {"endpoints:\n  - {endpoint: A/b, sender: github, tenant: acme, secrets: [good]}\n",
       "\"endpoint\" is \"A/b\""},
      {"endpoints:\n  - {endpoint: a, sender: githup, tenant: acme, secrets: [good]}\n",
       "did you mean \"github\""},
      {"endpoints:\n  - {endpoint: a, sender: github, tenant: acme, secrets: [good], poll: {}}\n",
       "the setting \"repository\" is missing"},
      {"endpoints:\n  - {endpoint: a, sender: github, tenant: acme, secrets: [good]}\n"
       "  - {endpoint: a, sender: jira, tenant: acme, secrets: [good]}\n",
       "hooks.yaml:3: error: endpoint \"a\" is there twice"},
      {"endpoints:\n  - {endpoint: a, sender: servicenow, tenant: acme, secrets: [short]}\n",
       "not base64"},
  };
  for (const auto& [text, message] : wrong) {
    EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  }
}

TEST(EndpointsTest, WarnsOfWhatIsLostAndOfWhatCanBeGuessed) {
  const auto site =
      Parse("endpoints:\n  - {endpoint: a, sender: github, tenant: acme, secrets: [short]}\n");
  ASSERT_THAT(site, IsOk());
  EXPECT_THAT(site->warnings,
              ElementsAre(HasSubstr("short"), HasSubstr("never sends a lost event again")));
}

TEST(EndpointsTest, SecretsStandInNoMessage) {
  const auto site = Parse(
      "endpoints:\n  - {endpoint: a, sender: servicenow, tenant: acme, secrets: "
      "[/etc/galen/short]}\n");
  EXPECT_FALSE(site.ok());
  EXPECT_EQ(std::string(site.status().message()).find("short\""), std::string::npos);
}

}  // namespace
}  // namespace galen::gateway::webhooks
