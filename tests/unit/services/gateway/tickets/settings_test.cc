// The files that say how ticket systems are spoken to, and those of a site.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "services/gateway/tickets/exchange.h"
#include "services/gateway/tickets/signature.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/tickets/ticket_world.h"

namespace galen::gateway::tickets {
namespace settings_test {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kName[] = "tenants/acme/diagnoses/d1";

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    std::ofstream(Path("secret")) << "s3cret\n";
    std::ofstream(Path("whsec")) << "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n";
  }
  static std::string Path(const std::string& name) {
    return absl::StrCat(::testing::TempDir(), "/", name);
  }
  static absl::StatusOr<Site> Parse(const std::string& text) {
    return ParseSite(text, Path("tickets.yaml"), ShippedSystems());
  }
  static std::string Target(const std::string& more) {
    return absl::StrCat(
        "console_url: https://galen.example/\ntargets:\n  - name: acme-jira\n"
        "    system: jira\n    tenants: [acme]\n    user: bot\n"
        "    secret_file: secret\n    variables: {base_url: "
        "\"https://acme.atlassian.net\", project: GPU}\n",
        more);
  }
};

TEST_F(SiteTest, ReadsTargetsWithTheirSecrets) {
  const auto site = Parse(Target("    when: [concluded]\n    timeout: 5s\n"));
  ASSERT_THAT(site, IsOk());
  const tickets::Target& target = site->targets.at(0);
  EXPECT_EQ(site->console_url, "https://galen.example");
  EXPECT_EQ(target.secret.Reveal(), "s3cret");
  EXPECT_EQ(target.variables.at("issue_type"), "Incident");
  EXPECT_TRUE(target.Serves("acme"));
  EXPECT_FALSE(target.Serves("other"));
  EXPECT_EQ(target.timeout, absl::Seconds(5));
}

TEST_F(SiteTest, RefusesWhatIsWrongWithFileAndLine) {
  const struct {
    std::string text;
    std::string says;
  } kCases[] = {
      {Target("    whem: [concluded]\n"), "tickets.yaml:9: whem: there is no such field"},
      {Target("    when: [solved]\n"), "tickets.yaml:9: when: holds none of"},
      {Target("    auth: magic\n"), "has no \"magic\""},
      {Target("    timeout: 1h\n"), "timeout: is not a time within"},
      {Target("  - name: acme-jira\n    system: jira\n"), "needs it"},
      {"targets:\n  - name: x\n    system: nothing\n    tenants: [a]\n",
       "tickets.yaml:3: system: is none of generic, github, jira, pagerduty, servicenow, slack"},
      {"targets:\n  - name: x\n    system: jira\n    tenants: [a]\n    variables: {base_url: "
       "\"http://jira.example\", project: P}\n    secret_file: secret\n",
       "is not an https:// address"},
      {"targets:\n  - name: x\n    system: jira\n    tenants: [a]\n    variables: {base_url: "
       "\"https://jira.example\", project: P}\n    secret_file: not-there\n",
       "not-there: cannot be read"},
      {"targets:\n  - name: x\n    system: generic\n    tenants: [a]\n    variables: {url_to: "
       "\"https://x.example\"}\n    secret_file: secret\n",
       "is not \"whsec_\""},
      {"targets: []\n", "is not a list of targets"},
  };
  for (const auto& wrong : kCases) {
    EXPECT_THAT(Parse(wrong.text).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(wrong.says)));
  }
}

TEST(TicketSystems, AreShippedForAllThatTheDocumentationNames) {
  for (const char* system : kSystems) EXPECT_THAT(ShippedSystems(), Contains(Key(system)));
}

TEST(TicketSystems, AreRefusedWhenTheyNameWhatThereIsNot) {
  const struct {
    std::string text;
    std::string says;
  } kCases[] = {
      {"id: x\nrequests:\n  open:\n    method: POST\n    url: \"${nothing}\"\n    id: /id\n",
       "x.yaml:5: url: \"${nothing}\": there is no such value"},
      {"id: x\nrequests:\n  open:\n    method: POST\n    url: https://x\n    id: /id\n"
       "    body: \"{\"\n",
       "is not JSON"},
      {"id: x\nrequests:\n  open:\n    method: DELETE\n    url: https://x\n    id: /id\n",
       "is none of GET"},
      {"id: x\nrequests:\n  open:\n    method: POST\n    url: https://x\n", "id: is not there"},
      {"id: x\n", "open: is not there"},
      {"id: x\nrequests:\n  open:\n    method: POST\n    url: https://x/${secret}\n    id: /id\n",
       "there is no such value"},
  };
  for (const auto& wrong : kCases) {
    EXPECT_THAT(ParseSystem(wrong.text, "x.yaml").status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(wrong.says)));
  }
}

TEST(TicketSystems, ANewOneNeedsNoCode) {
  const auto system = ParseSystem(R"(
id: opsgenie
auth:
  genie: {kind: header, header: Authorization, value: "GenieKey ${secret}"}
maps:
  priority: {from: severity, words: {critical: P1, high: P2}, else: P3}
requests:
  open:
    method: POST
    url: https://api.opsgenie.com/v2/alerts
    body: |
      {"message": "${headline|limit:130}", "alias": "${mark}", "description": "${body}",
       "entity": "${node}", "source": "galen", "priority": "${priority}"}
    id: "${mark}"
)",
                                  "opsgenie.yaml");
  ASSERT_THAT(system, IsOk());
  Target target;
  target.system = *system;
  target.auth = system->auths[0].second;
  target.secret = galen::http::Secret("k");
  const auto call = MakeCall(target, *system->Find("open"),
                             ValuesFor(target, DocumentOf(ADiagnosis(kName), "", Reader::kCustomer),
                                       nullptr, absl::UnixEpoch()),
                             absl::UnixEpoch());
  ASSERT_THAT(call, IsOk());
  const Json body = Json::parse(call->body);
  EXPECT_EQ(body["alias"], MarkOf(kName));
  EXPECT_EQ(body["priority"], "P1");
  EXPECT_EQ(body["entity"], "n1");
  EXPECT_THAT(call->headers, Contains(Pair("Authorization", "GenieKey k")));
}

TEST(TicketExchange, SignsAsStandardWebhooksDo) {
  // The example of the specification's libraries.
  EXPECT_EQ(
      StandardSignature("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek",
                        "1614265330", R"({"test": 2432232314})")
          .value(),
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(TicketExchange, TellsNobodyTheSecret) {
  Target target = TargetOf("jira");
  const Outcome outcome = ReadAnswer(target, "open", *target.system.Find("open"), {},
                                     HttpAnswer{401, "bad token not-so-secret\n", std::nullopt});
  EXPECT_THAT(outcome.detail, Not(HasSubstr("not-so-secret")));
  EXPECT_THAT(outcome.detail, HasSubstr("HTTP 401"));
}

TEST(TicketExchange, ReadsWhatAnswersMean) {
  using Kind = Outcome::Kind;
  const struct {
    const char* system;
    const char* step;
    int status;
    const char* body;
    Kind kind;
    bool may_have_happened;
  } kCases[] = {
      {"jira", "open", 201, R"({"key": "GPU-1"})", Kind::kDone, false},
      {"jira", "open", 201, "{}", Kind::kAgain, true},
      {"jira", "open", 201, "<html>", Kind::kAgain, true},
      {"jira", "open", 400, R"({"errors": {}})", Kind::kRefused, false},
      {"jira", "open", 302, "", Kind::kRefused, false},
      {"jira", "open", 408, "", Kind::kAgain, false},
      {"jira", "open", 500, "", Kind::kAgain, true},
      {"jira", "update", 204, "", Kind::kDone, false},
      {"jira", "find", 200, R"({"issues": []})", Kind::kNone, false},
      {"jira", "find", 200, R"({"issues": [{"key": "GPU-7"}]})", Kind::kDone, false},
      {"jira", "find", 200, R"({"error": 1})", Kind::kAgain, false},
      {"slack", "open", 200, R"({"ok": false, "error": "channel_not_found"})", Kind::kRefused,
       true},
      {"slack", "open", 200, R"({"ok": false, "error": "ratelimited"})", Kind::kAgain, true},
      {"slack", "open", 200, R"({"ok": true, "ts": "1.2"})", Kind::kDone, false},
      {"pagerduty", "open", 202, "", Kind::kDone, false},
  };
  for (const auto& expected : kCases) {
    SCOPED_TRACE(absl::StrCat(expected.system, " ", expected.step, " ", expected.body));
    Target target = TargetOf(expected.system);
    const Outcome outcome =
        ReadAnswer(target, expected.step, *target.system.Find(expected.step), {{"mark", "galen-1"}},
                   HttpAnswer{expected.status, expected.body, std::nullopt});
    EXPECT_EQ(outcome.kind, expected.kind);
    EXPECT_EQ(outcome.may_have_happened, expected.may_have_happened);
  }
}

TEST(TicketExchange, AMarkerOfAnotherDiagnosisIsNotOurs) {
  Target target = TargetOf("github");
  const Values values = {{"mark", MarkOf(kName)}};
  const std::string other = absl::StrCat(R"([{"number": 1, "body": "x <!-- )",
                                         MarkOf("tenants/acme/diagnoses/d2"), R"( -->"}])");
  EXPECT_EQ(ReadAnswer(target, "find", *target.system.Find("find"), values,
                       HttpAnswer{200, other, std::nullopt})
                .kind,
            Outcome::Kind::kNone);
}

TEST(TicketDecision, PausesGrowUpToALimit) {
  EXPECT_EQ(PauseAfter(1, 0), absl::Seconds(2.5));
  EXPECT_EQ(PauseAfter(1, 1), absl::Seconds(5));
  EXPECT_EQ(PauseAfter(3, 1), absl::Seconds(20));
  EXPECT_EQ(PauseAfter(50, 1), absl::Minutes(5));
}

TEST(TicketDecision, WhatHasFailedForThreeDaysIsADeadLetter) {
  const absl::Time begin = absl::FromUnixSeconds(1'700'000'000);
  Outcome failure;
  failure.kind = Outcome::Kind::kAgain;
  v1::TicketDue due;
  *due.mutable_first_due() = ToTimestamp(begin);
  Fail(failure, begin + absl::Hours(71), 0, due);
  EXPECT_FALSE(IsDead(due));
  Fail(failure, begin + absl::Hours(73), 0, due);
  EXPECT_TRUE(IsDead(due));
}

}  // namespace settings_test
}  // namespace galen::gateway::tickets
