#include "services/gateway/webhooks/payload_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const absl::Time kSomeTime = absl::FromUnixSeconds(1'794'971'564);  // 2026-11-18T03:12:44Z

std::string Group(const std::string& status, const std::string& alerts) {
  return absl::StrCat(
      R"({"version":"4","receiver":"r","status":")", status,
      R"(","groupKey":"{}:{alertname=\"X\"}","commonLabels":{"severity":"critical"},)",
      R"("truncatedAlerts":3,"alerts":[)", alerts, "]}");
}
std::string Alert(const std::string& status, const std::string& node) {
  return absl::StrCat(R"({"status":")", status, R"(","fingerprint":"f-)", node,
                      R"(","startsAt":"2026-11-18T03:12:44.213Z","endsAt":"0001-01-01T00:00:00Z",)",
                      R"("labels":{"alertname":"X","node":")", node, R"("}})");
}

std::vector<std::string> NodesOf(const v1::WebhookEvent& event) {
  const auto& nodes = event.request().diagnosis().incident().nodes();
  return {nodes.begin(), nodes.end()};
}

TEST(PayloadParserTest, AGroupOfManyAlertsIsOneIncidentWithTheNodesOfAll) {
  const auto reading = ParseDelivery(
      EndpointOf("alertmanager"),
      Post(Group("firing", absl::StrCat(Alert("firing", "n1"), ",", Alert("firing", "n2"), ",",
                                        Alert("resolved", "n1")))));
  ASSERT_THAT(reading, IsOk());
  ASSERT_THAT(reading->events, SizeIs(1));
  EXPECT_THAT(NodesOf(reading->events[0]), ElementsAre("n1", "n2"));
  const galen::v1::Incident& incident = reading->events[0].request().diagnosis().incident();
  EXPECT_EQ(incident.environment().attributes().at("truncated_alerts"), "3");
  EXPECT_EQ(incident.environment().attributes().at("webhook.sender"), "alertmanager");
  EXPECT_EQ(incident.environment().attributes().at("webhook.endpoint"), "in");
  // Before the alert: that comes late.
  EXPECT_EQ(incident.start_time().seconds(), absl::ToUnixSeconds(kSomeTime) - 30 * 60);
}

TEST(PayloadParserTest, WhatAnAlertmanagerSaysAgainIsTheSameEvent) {
  const Endpoint endpoint = EndpointOf("alertmanager");
  const auto first = ParseDelivery(endpoint, Post(Group("firing", Alert("firing", "n1"))));
  const auto again = ParseDelivery(endpoint, Post(Group("firing", Alert("firing", "n1")) + "\n"));
  const auto more = ParseDelivery(
      endpoint,
      Post(Group("firing", absl::StrCat(Alert("firing", "n1"), ",", Alert("firing", "n2")))));
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(again, IsOk());
  ASSERT_THAT(more, IsOk());
  EXPECT_EQ(first->events[0].event(), again->events[0].event());
  EXPECT_NE(first->events[0].event(), more->events[0].event());
  EXPECT_EQ(first->events[0].incident(), more->events[0].incident());
}

TEST(PayloadParserTest, RefusesABodyThatIsNotItsSenders) {
  for (const std::string& body :
       {std::string("{"), std::string(""), std::string("[]"), std::string("\"x\""),
        std::string(R"({"version":"1","groupKey":"k","status":"firing"})"), std::string("\xff\xfe"),
        std::string(100'000, '[')}) {
    EXPECT_THAT(ParseDelivery(EndpointOf("alertmanager"), Post(body)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("body: ")))
        << body.substr(0, 40);
  }
  EXPECT_THAT(ParseDelivery(EndpointOf("slack"), Post("command=%zz")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a form")));
}

TEST(PayloadParserTest, ManyPartsOfABodyAreBounded) {
  std::string events = R"({"nodeName":"n","checkName":"c","isFatal":true})";
  for (int i = 0; i < 1'000; ++i) absl::StrAppend(&events, R"(,{"nodeName":"n"})");
  EXPECT_THAT(ParseDelivery(EndpointOf("nvsentinel-health-events"),
                            Post(absl::StrCat("{\"events\":[", events, "]}"))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 1000")));
}

TEST(PayloadParserTest, WhatComesInIsTextAndBounded) {
  http::Request request = Post(
      absl::StrCat(R"({"type":"incident.opened","data":{"id":"1","description":"\u001b[31m)",
                   std::string(900'000, 'x'),
                   R"(","nodes":["good-1","../../etc","-rf","a b","host:9400","`id`",7,null],)",
                   R"("severity":")", std::string(5'000, 's'), R"("}})"));
  request.headers.Add("webhook-id", "m1");
  const auto reading = ParseDelivery(EndpointOf("standard-webhooks"), request);
  ASSERT_THAT(reading, IsOk());
  const galen::v1::Incident& incident = reading->events[0].request().diagnosis().incident();
  EXPECT_LE(incident.description().size(), 64U << 10);
  EXPECT_THAT(incident.description(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(NodesOf(reading->events[0]), ElementsAre("good-1", "host", "7"));
  EXPECT_LE(incident.environment().attributes().at("severity").size(), 1'024U);
}

TEST(PayloadParserTest, AnEndpointNamesNoNodesButItsOwn) {
  Endpoint endpoint = EndpointOf("alertmanager");
  endpoint.nodes = {"ord1-*", "n1"};
  auto reading = ParseDelivery(
      endpoint,
      Post(Group("firing", absl::StrCat(Alert("firing", "n1"), ",", Alert("firing", "n2")))));
  ASSERT_THAT(reading, IsOk());
  EXPECT_THAT(NodesOf(reading->events[0]), ElementsAre("n1"));
  // No node of its own, or no node at all, which would mean all nodes.
  for (const std::string& body :
       {Group("firing", Alert("firing", "n2")), Group("firing", Alert("firing", ""))}) {
    reading = ParseDelivery(endpoint, Post(body));
    ASSERT_THAT(reading, IsOk());
    EXPECT_THAT(reading->events, IsEmpty());
    EXPECT_THAT(reading->ignored, ElementsAre(HasSubstr("no node of this endpoint")));
  }
  endpoint.default_nodes = {"ord1-gpu-1"};
  reading = ParseDelivery(endpoint, Post(Group("firing", Alert("firing", ""))));
  ASSERT_THAT(reading, IsOk());
  EXPECT_THAT(NodesOf(reading->events[0]), ElementsAre("ord1-gpu-1"));
}

TEST(PayloadParserTest, WhatGalenItselfCausedIsPassedOver) {
  Endpoint endpoint = EndpointOf("servicenow");
  endpoint.own_authors = {"diag.bot"};
  const auto reading = ParseDelivery(
      endpoint, Post(R"({"type":"servicenow.incident.updated","data":{"sys_id":"1","state":"2",)"
                     R"("sys_mod_count":"1","sys_updated_by":"Diag.Bot"}})"));
  ASSERT_THAT(reading, IsOk());
  EXPECT_THAT(reading->ignored, ElementsAre(HasSubstr("Galen itself")));
}

TEST(PayloadParserTest, WhatIsSaidOfTicketsIsReadWhereTheEndpointTellsOfThem) {
  using Kind = TicketEvent::Kind;
  const struct {
    const char* sender;
    const char* github_event;
    std::string body;
    const char* ticket;
    Kind kind;
    const char* author;
    const char* text;
  } kCases[] = {
      {"github", "issue_comment",
       R"({"action":"created","issue":{"id":1,"number":7},"sender":{"login":"ana"},)"
       R"("comment":{"body":"cable","author_association":"MEMBER"}})",
       "7", Kind::kComment, "ana", "cable"},
      {"github", "issue_comment",
       R"({"action":"created","issue":{"id":1,"number":7},"sender":{"login":"eve"},)"
       R"("comment":{"body":"cable","author_association":"NONE"}})",
       "7", Kind::kOther, "eve", "cable"},
      {"github", "issues",
       R"({"action":"closed","issue":{"id":1,"number":7},"sender":{"login":"ana"}})", "7",
       Kind::kClosed, "ana", ""},
      {"jira", "",
       R"({"webhookEvent":"comment_created","issue":{"id":"1","key":"GPU-7"},)"
       R"("comment":{"body":"cable","author":{"accountId":"ana"}}})",
       "GPU-7", Kind::kComment, "ana", "cable"},
      {"jira", "",
       R"({"webhookEvent":"jira:issue_updated","user":{"accountId":"ana"},"issue":{"id":"1","key":)"
       R"("GPU-7","fields":{"status":{"statusCategory":{"key":"done"}}}}})",
       "GPU-7", Kind::kClosed, "ana", ""},
      {"servicenow", "",
       R"({"type":"servicenow.incident.updated","data":{"sys_id":"9","sys_mod_count":"2","state":)"
       R"("6","close_notes":"riser","sys_updated_by":"ana"}})",
       "9", Kind::kClosed, "ana", "riser"},
      {"pagerduty", "",
       R"({"event":{"id":"e","event_type":"incident.resolved","agent":{"id":"ana"},)"
       R"("data":{"id":"P1","incident_key":"galen-1"}}})",
       "galen-1", Kind::kClosed, "ana", ""},
      {"standard-webhooks", "",
       R"({"type":"ticket.commented","data":{"mark":"galen-1","author":"ana","text":"cable"}})",
       "galen-1", Kind::kComment, "ana", "cable"},
  };
  for (const auto& expected : kCases) {
    SCOPED_TRACE(expected.body);
    Endpoint endpoint = EndpointOf(expected.sender);
    http::Request request = Post(expected.body);
    request.headers.Add("X-GitHub-Event", expected.github_event);
    EXPECT_THAT(ParseDelivery(endpoint, request)->notes, IsEmpty());
    endpoint.tickets = "t";
    const auto reading = ParseDelivery(endpoint, request);
    ASSERT_THAT(reading, IsOk());
    ASSERT_THAT(reading->notes, SizeIs(1));
    const TicketEvent& note = reading->notes[0];
    EXPECT_EQ(note.target, "t");
    EXPECT_EQ(note.tenant, "acme");
    EXPECT_EQ(note.ticket, expected.ticket);
    EXPECT_EQ(note.kind, expected.kind);
    EXPECT_EQ(note.author, expected.author);
    EXPECT_EQ(note.text, expected.text);
    EXPECT_NE(note.delivery, "");
  }
}

TEST(PayloadParserTest, AnEndpointMayOpenLessThanItsSender) {
  Endpoint endpoint = EndpointOf("alertmanager");
  endpoint.only.push_back({Selector::Parse("/commonLabels/severity").value(), {"page"}, {}, {}});
  const auto opens = ParseDelivery(endpoint, Post(Group("firing", Alert("firing", "n1"))));
  const auto closes = ParseDelivery(endpoint, Post(Group("resolved", Alert("resolved", "n1"))));
  ASSERT_THAT(opens, IsOk());
  ASSERT_THAT(closes, IsOk());
  EXPECT_THAT(opens->events, IsEmpty());
  EXPECT_THAT(closes->events, SizeIs(1));
}

TEST(PayloadParserTest, TestsOfSendersAreKnown) {
  http::Request ping = Post(R"({"zen":"Design for failure.","hook_id":1})");
  ping.headers.Add("X-GitHub-Event", "ping");
  const std::vector<std::pair<std::string, http::Request>> probes = {
      {"github", ping},
      {"pagerduty", Post(R"({"event":{"id":"1","event_type":"pagey.ping","data":{}}})")},
      {"slack", Post("ssl_check=1&token=x")},
      {"opsgenie", Post(R"({"action":"Test","source":{"name":"","type":"web"}})")},
      {"standard-webhooks", Post(R"({"type":"ping"})")},
  };
  for (const auto& [sender, request] : probes) {
    const auto reading = ParseDelivery(EndpointOf(sender), request);
    ASSERT_THAT(reading, IsOk()) << sender;
    EXPECT_TRUE(reading->probe) << sender;
    EXPECT_THAT(reading->events, IsEmpty()) << sender;
  }
}

TEST(PayloadParserTest, StrangersStartNothingOnGitHub) {
  const auto comment = [](const std::string& who, const std::string& text) {
    http::Request request = Post(absl::StrCat(
        R"({"action":"created","issue":{"id":1,"title":"t","labels":[]},"comment":{"id":2,"body":")",
        text, R"(","author_association":")", who, R"("},"sender":{"login":"x"}})"));
    request.headers.Add("X-GitHub-Event", "issue_comment");
    return ParseDelivery(EndpointOf("github"), request).value().events.at(0).action();
  };
  EXPECT_EQ(comment("MEMBER", "/diag again"), v1::WebhookEvent::OPEN);
  EXPECT_EQ(comment("NONE", "/diag again"), v1::WebhookEvent::UPDATE);
  EXPECT_EQ(comment("MEMBER", "see /diag"), v1::WebhookEvent::UPDATE);
}

TEST(PayloadParserTest, HealthEventsThatAskForNothingOpenNothing) {
  const auto event = [](const std::string& fields) {
    return ParseDelivery(EndpointOf("nvsentinel"),
                         Post(absl::StrCat(R"({"specversion":"1.0","id":"1","source":"s","data":)",
                                           R"({"healthEvent":{"nodeName":"n1","checkName":"c",)",
                                           fields, "}}}")))
        .value();
  };
  EXPECT_THAT(event(R"("isFatal":false,"recommendedAction":"NONE")").events, IsEmpty());
  EXPECT_EQ(event(R"("isFatal":true,"recommendedAction":"RESTART_BM")").events.at(0).action(),
            v1::WebhookEvent::OPEN);
  // ProtoJSON omits default values; for the action, this is NONE.
  EXPECT_EQ(event(R"("isFatal":true)").events.at(0).action(), v1::WebhookEvent::OPEN);
  EXPECT_THAT(event(R"("isFatal":false)").events, IsEmpty());
  EXPECT_EQ(event(R"("isHealthy":true,"recommendedAction":"NONE")").events.at(0).action(),
            v1::WebhookEvent::CLOSE);
}

TEST(PayloadParserTest, NodeProblemDetectorsEventsOpenIncidents) {
  const auto event = [](const std::string& kind, const std::string& type,
                        const std::string& component) {
    return ParseDelivery(
               EndpointOf("node-problem-detector"),
               Post(absl::StrCat(R"({"metadata":{"uid":"u1","resourceVersion":"7"},"type":")", type,
                                 R"(","reason":"XIDErrors","message":"Xid 79","count":2,)",
                                 R"("involvedObject":{"kind":")", kind,
                                 R"(","name":"n1"},"source":{"component":")", component, R"("}})")))
        .value();
  };
  const ParsedDelivery reading = event("Node", "Warning", "kernel-monitor");
  ASSERT_THAT(reading.events, SizeIs(1));
  EXPECT_THAT(NodesOf(reading.events[0]), ElementsAre("n1"));
  EXPECT_THAT(reading.events[0].request().diagnosis().incident().description(),
              HasSubstr("XIDErrors on n1: Xid 79"));
  EXPECT_THAT(event("Pod", "Warning", "kernel-monitor").events, IsEmpty());
  EXPECT_THAT(event("Node", "Normal", "kernel-monitor").events, IsEmpty());
  EXPECT_THAT(event("Node", "Warning", "kubelet").events, IsEmpty());
}

TEST(PayloadParserTest, WhatAPollFindsIsTheEventThatWasSent) {
  const Endpoint endpoint = EndpointOf("servicenow");
  const auto sent = ParseDelivery(
      endpoint,
      Post(
          R"({"type":"servicenow.incident.created","data":{"sys_id":"abc","sys_mod_count":"4",)"
          R"("state":"1","short_description":"hangs","cmdb_ci":{"value":"1","display_value":"n1"}}})"));
  const auto item = Document::FromJson(
      R"({"sys_id":{"display_value":"abc","value":"abc"},"sys_mod_count":{"display_value":"4",)"
      R"("value":"4"},"state":{"display_value":"New","value":"1"},"short_description":)"
      R"({"display_value":"hangs","value":"hangs"},"cmdb_ci":{"display_value":"n1","value":"1"}})");
  const auto polled = ParsePolledItem(endpoint, item.value());
  ASSERT_THAT(sent, IsOk());
  ASSERT_THAT(polled, IsOk());
  EXPECT_EQ(sent->events.at(0).event(), polled->events.at(0).event());
  EXPECT_EQ(sent->events[0].incident(), polled->events[0].incident());
  EXPECT_EQ(sent->events[0].request().DebugString(), polled->events[0].request().DebugString());
}

TEST(PayloadParserTest, ReadsTimesAsSendersWriteThem) {
  for (const char* const text :
       {"2026-11-18T03:12:44Z", "2026-11-18T04:12:44+01:00", "2026-11-18T03:12:44.0000000Z",
        "2026-11-18T03:12:44.000+0000", "2026-11-18 03:12:44", "1794971564", "1794971564000",
        "1794971564000000", "1794971564000000000"}) {
    EXPECT_EQ(ParseEventTime(text), kSomeTime) << text;
  }
  for (const char* const text : {"", "0001-01-01T00:00:00Z", "yesterday", "0", "-5",
                                 "9223372036854775807", "infinite-future"}) {
    EXPECT_EQ(ParseEventTime(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace galen::gateway::webhooks
