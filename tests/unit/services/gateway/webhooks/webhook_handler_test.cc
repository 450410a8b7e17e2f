#include "services/gateway/webhooks/webhook_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/store.h"
#include "services/gateway/webhooks/webhook_metrics.h"
#include "services/gateway/webhooks/webhooks.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/services/gateway/api/fakes.h"
#include "tests/unit/services/gateway/webhooks/senders.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::IsOk;
using nlohmann::json;
using ::testing::HasSubstr;

// The orchestrator, as the gateway sees it.
class Orchestrator final : public Upstream {
 public:
  clients::Cancel Ask(Call call, clients::Done<Answer> done) override {
    absl::Status status;
    {
      const MutexLock lock(mu_);
      const auto& request = static_cast<const galen::v1::CreateDiagnosisRequest&>(*call.request);
      asked_.push_back(request);
      resources_.push_back(call.resource);
      status = status_;
      changed_.notify_all();
    }
    if (!status.ok()) {
      std::move(done)(status);
    } else {
      std::move(done)(std::make_unique<galen::v1::Diagnosis>());
    }
    return clients::NoCancel();
  }
  std::shared_ptr<Feed> Follow(Call /*call*/,
                               absl::AnyInvocable<void(const google::protobuf::Message&)> /*on*/,
                               absl::AnyInvocable<void(absl::Status) &&> /*done*/) override {
    return nullptr;
  }
  void SetStatus(absl::Status status) {
    const MutexLock lock(mu_);
    status_ = std::move(status);
  }
  std::vector<galen::v1::CreateDiagnosisRequest> AwaitAsked(std::size_t count) {
    const MutexLock lock(mu_);
    while (asked_.size() < count) mu_.Wait(changed_);
    return asked_;
  }
  std::vector<std::string> resources() {
    const MutexLock lock(mu_);
    return resources_;
  }

 private:
  Mutex mu_;
  std::condition_variable changed_;
  std::vector<galen::v1::CreateDiagnosisRequest> asked_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> resources_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

class Rates final : public RateLimiter {
 public:
  void Take(const std::string& tenant, bool starts,
            absl::AnyInvocable<void(absl::StatusOr<Allowance>) &&> done) override {
    Allowance given;
    {
      const MutexLock lock(mu_);
      if (starts && quota_ >= 0) {
        started_.push_back(tenant);
        if (quota_ == 0) {
          given.wait = absl::Milliseconds(20);
          given.is_quota = true;
        } else {
          --quota_;
        }
      }
    }
    std::move(done)(starts ? given : allowance);
  }
  // The quota of diagnoses; below 0: none.
  void SetQuota(int quota) {
    const MutexLock lock(mu_);
    quota_ = quota;
  }
  std::vector<std::string> started() {
    const MutexLock lock(mu_);
    return started_;
  }
  Allowance allowance;  // of requests

 private:
  Mutex mu_;
  int quota_ ABSL_GUARDED_BY(mu_) = -1;
  std::vector<std::string> started_ ABSL_GUARDED_BY(mu_);
};

class WebhookHandlerTest : public ::testing::Test {
 protected:
  ~WebhookHandlerTest() override { Stop(); }
  WebhookHandlerTest() = default;
  WebhookHandlerTest(const WebhookHandlerTest&) = delete;
  WebhookHandlerTest& operator=(const WebhookHandlerTest&) = delete;

  // All parts, for an endpoint "in" of each of these senders, named as the sender.
  void Start(const std::vector<std::string>& senders) {
    std::string text = "endpoints:\n";
    for (const std::string& sender : senders) {
      absl::StrAppend(&text, "  - {endpoint: ", sender, ", sender: ", sender,
                      ", tenant: acme, secrets: [/secret]}\n");
    }
    auto site = ParseSite(
        text, "/hooks.yaml", ShippedSenders(),
        +[](const std::string&) -> absl::StatusOr<std::string> { return std::string(kSecret); });
    ASSERT_THAT(site, IsOk());
    site_ = *std::move(site);
    executor_ = std::make_unique<ThreadPool>(2, most_queued_);
    webhook_journal_ = std::make_unique<WebhookJournal>((*store_)->journal(), clock_, *executor_,
                                                        WebhookJournal::Options());
    ASSERT_THAT(webhook_journal_->Open(), IsOk());
    dispatcher_ = std::make_unique<IngestDispatcher>(
        *webhook_journal_, orchestrator_, rates_,
        IngestDispatcher::Options{.first_pause = absl::Milliseconds(1),
                                  .leave_to_others = absl::ZeroDuration(),
                                  .look = absl::Milliseconds(5)},
        [](const std::string&) {});
    webhook_journal_->OnOpened(
        [this](const std::vector<std::string>& names) { dispatcher_->Wake(names); });
    handler_ = std::make_unique<WebhookHandler>(site_, *webhook_journal_, rates_, clock_,
                                                *executor_, counters_, options_, heard_);
  }
  void Stop() {
    if (dispatcher_ != nullptr) dispatcher_->Stop();
    executor_.reset();
  }
  // As its sender would sign it, now.
  http::Request Signed(const std::string& endpoint, const std::string& body) {
    http::Request request = Post(body);
    request.target = absl::StrCat("/hooks/", endpoint);
    const Endpoint& to = site_.endpoints.at(endpoint);
    const std::string now = absl::StrCat(absl::ToUnixSeconds(clock_.Now()));
    if (!to.scheme.id_header.empty()) request.headers.Add(to.scheme.id_header, "msg_1");
    if (!to.scheme.timestamp_header.empty()) request.headers.Add(to.scheme.timestamp_header, now);
    const std::string signature = Sign(to.scheme, to.keys[0], "msg_1", now, body).value();
    if (to.scheme.query.empty()) {
      request.headers.Add(to.scheme.header, signature);
    } else {
      absl::StrAppend(&request.target, "?", to.scheme.query, "=", signature);
    }
    return request;
  }
  http::Response Send(http::Request request) {
    const auto exchange = std::make_shared<FakeExchange>();
    handler_->Handle(std::move(request), exchange);
    return exchange->AwaitResponse();
  }
  std::uint64_t Count(const std::string& endpoint, const std::string& outcome) {
    return counters_.deliveries()[{endpoint, outcome}];
  }

  absl::StatusOr<std::unique_ptr<store::Store>> store_ = store::OpenStore(":memory:");
  testing::FakeClock clock_;
  Orchestrator orchestrator_;
  Rates rates_;
  WebhookHandler::Options options_;
  TicketUpdateHandler heard_;
  std::size_t most_queued_ = 100;
  Site site_;
  WebhookCounters counters_;
  std::unique_ptr<WebhookJournal> webhook_journal_;
  std::unique_ptr<IngestDispatcher> dispatcher_;
  std::unique_ptr<WebhookHandler> handler_;
  std::unique_ptr<ThreadPool> executor_;
};

constexpr char kFiring[] =
    R"({"version":"4","status":"firing","groupKey":"g","alerts":[{"status":"firing","fingerprint":"f",)"
    R"("labels":{"alertname":"X","node":"n1"},"startsAt":"2026-11-18T03:12:44Z"}]})";
constexpr char kResolved[] =
    R"({"version":"4","status":"resolved","groupKey":"g","alerts":[{"status":"resolved",)"
    R"("fingerprint":"f","labels":{"alertname":"X","node":"n1"},"startsAt":"2026-11-18T03:12:44Z"}]})";

TEST_F(WebhookHandlerTest, AnswersWithTheNameAndHandsTheDiagnosisOn) {
  Start({"alertmanager"});
  const http::Response response = Send(Signed("alertmanager", kFiring));
  EXPECT_EQ(response.status, 202);
  const json body = json::parse(response.body);
  EXPECT_EQ(body["events"][0]["outcome"], "opened");
  const auto asked = orchestrator_.AwaitAsked(1);
  EXPECT_EQ(body["name"], absl::StrCat(asked[0].parent(), "/diagnoses/", asked[0].diagnosis_id()));
  EXPECT_EQ(asked[0].request_id(), asked[0].diagnosis_id());
  EXPECT_EQ(asked[0].diagnosis().incident().nodes(0), "n1");
  EXPECT_EQ(orchestrator_.resources()[0], "tenants/acme");
}

TEST_F(WebhookHandlerTest, ARecordedDeliveryOpensNothingWhenItIsForgotten) {
  Start({"pagerduty"});
  const auto triggered = [](absl::Time when) {
    return absl::StrCat(
        R"({"event":{"id":"e1","event_type":"incident.triggered","resource_type":"incident",)",
        R"("occurred_at":")", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", when, absl::UTCTimeZone()),
        R"(","data":{"id":"PGR0VU2","type":"incident","title":"GPU lost","status":"triggered"}}})");
  };
  const http::Request recorded = Signed("pagerduty", triggered(clock_.Now()));
  EXPECT_EQ(json::parse(Send(recorded).body)["events"][0]["outcome"], "opened");
  clock_.Advance(absl::Hours(24 * 30 + 1));
  const http::Response replayed = Send(recorded);
  EXPECT_EQ(replayed.status, 202);
  EXPECT_THAT(replayed.body, HasSubstr("more than 30 days ago"));
  EXPECT_EQ(Count("pagerduty", "ignored"), 1U);
  EXPECT_EQ(orchestrator_.AwaitAsked(1).size(), 1U);
}

TEST_F(WebhookHandlerTest, WhatIsAboutATicketOfOursIsHeardAndOpensNothing) {
  constexpr char kOpened[] =
      R"({"webhookEvent":"jira:issue_created","issue":{"id":"1","key":"GPU-7","fields":{}}})";
  std::vector<TicketEvent> notes;
  absl::StatusOr<bool> answer = true;
  heard_ = [&](const TicketEvent& note) {
    notes.push_back(note);
    return answer;
  };
  Start({"jira"});
  site_.endpoints.at("jira").tickets = "acme-jira";
  const http::Response ours = Send(Signed("jira", kOpened));
  EXPECT_EQ(ours.status, 202);
  EXPECT_THAT(ours.body, HasSubstr("a ticket that Galen filed"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].ticket, "GPU-7");
  EXPECT_EQ(Count("jira", "ticket"), 1U);
  answer = absl::UnavailableError("the store is away");
  EXPECT_EQ(Send(Signed("jira", kOpened)).status, 503);
  answer = false;
  EXPECT_EQ(json::parse(Send(Signed("jira", kOpened)).body)["events"][0]["outcome"], "opened");
  orchestrator_.AwaitAsked(1);
}

std::string Firing(int number) {
  json alert = json::parse(kFiring);
  alert["groupKey"] = absl::StrCat("g", number);
  alert["alerts"] = json::array({alert["alerts"][0]});
  alert["alerts"][0]["fingerprint"] = absl::StrCat("f", number);
  alert["alerts"][0]["labels"]["alertname"] = absl::StrCat("A", number);
  alert["alerts"][0]["labels"]["instance"] = absl::StrCat("n", number);
  return alert.dump();
}

// Diagnoses started through any interface count for their tenant.
TEST_F(WebhookHandlerTest, DiagnosesCountAgainstTheQuotaAndWaitWhereItIsUsedUp) {
  rates_.SetQuota(3);
  Start({"alertmanager"});
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(Send(Signed("alertmanager", Firing(i))).status, 202);
    Send(Signed("alertmanager", Firing(i)));  // a repeat starts nothing
  }
  orchestrator_.AwaitAsked(3);
  while (rates_.started().size() < 8) absl::SleepFor(absl::Milliseconds(1));  // asked and refused
  EXPECT_EQ(orchestrator_.AwaitAsked(3).size(), 3u);
  EXPECT_EQ(rates_.started().front(), "acme");
  // Diagnoses over the quota are not lost.
  rates_.SetQuota(7);
  EXPECT_EQ(orchestrator_.AwaitAsked(10).size(), 10u);
}

TEST_F(WebhookHandlerTest, WhatIsAskedForAgainCountsOnce) {
  rates_.SetQuota(1);
  orchestrator_.SetStatus(absl::UnavailableError("away"));
  Start({"alertmanager"});
  ASSERT_EQ(Send(Signed("alertmanager", Firing(1))).status, 202);
  orchestrator_.AwaitAsked(3);
  orchestrator_.SetStatus(absl::OkStatus());
  orchestrator_.AwaitAsked(4);
  Stop();
  EXPECT_EQ(rates_.started().size(), 1u);
}

TEST_F(WebhookHandlerTest, ARepeatHasTheSameAnswerAndMakesNothing) {
  Start({"alertmanager"});
  const json first = json::parse(Send(Signed("alertmanager", kFiring)).body);
  const http::Response again = Send(Signed("alertmanager", kFiring));
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(json::parse(again.body)["name"], first["name"]);
  const json resolved = json::parse(Send(Signed("alertmanager", kResolved)).body);
  EXPECT_EQ(resolved["name"], first["name"]);
  EXPECT_EQ(resolved["events"][0]["outcome"], "closed");
  EXPECT_EQ(json::parse(Send(Signed("alertmanager", kFiring)).body)["name"], first["name"]);
  orchestrator_.AwaitAsked(1);
  Stop();
  EXPECT_EQ(orchestrator_.AwaitAsked(1).size(), 1U);
}

TEST_F(WebhookHandlerTest, WhoDoesNotKnowTheSecretIsRefusedAndToldNothing) {
  Start({"alertmanager"});
  http::Request wrong = Post(kFiring);
  wrong.target = "/hooks/alertmanager";
  EXPECT_EQ(Send(wrong).status, 401);
  wrong.headers.Add("Authorization", "Bearer wrong");
  const http::Response refused = Send(wrong);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.body.find("wrong\""), std::string::npos);
  // The answer does not reveal which endpoints exist either.
  wrong.target = "/hooks/other";
  EXPECT_EQ(Send(wrong).status, 404);
  wrong.target = "/hooks/";
  EXPECT_EQ(Send(wrong).status, 404);
  EXPECT_EQ(Count("alertmanager", "refused"), 2U);
  EXPECT_EQ(Count("", "no_endpoint"), 2U);
  EXPECT_TRUE(counters_.last().empty());
}

TEST_F(WebhookHandlerTest, AReplayOfAnOldDeliveryIsRefused) {
  Start({"standard-webhooks"});
  const http::Request request =
      Signed("standard-webhooks", R"({"type":"incident.opened","data":{"description":"x"}})");
  const json first = json::parse(Send(request).body);
  EXPECT_EQ(json::parse(Send(request).body)["name"], first["name"]);
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(Send(request).status, 401);
}

TEST_F(WebhookHandlerTest, ABodyUnderAnotherDeliveryIdIsARepeatAllTheSame) {
  Start({"github"});
  http::Request request = Signed(
      "github",
      R"({"action":"opened","issue":{"id":7,"title":"t","labels":[{"name":"gpu-incident"}]}})");
  request.headers.Add("X-GitHub-Event", "issues");
  request.headers.Add("X-GitHub-Delivery", "1");
  const json first = json::parse(Send(request).body);
  EXPECT_EQ(first["events"][0]["outcome"], "opened");
  request.headers.Set("X-GitHub-Delivery", "2");
  const json again = json::parse(Send(request).body);
  EXPECT_EQ(again["events"][0]["outcome"], "repeated");
  EXPECT_EQ(again["name"], first["name"]);
}

TEST_F(WebhookHandlerTest, WhatCannotBeReadIs400AndWhatIsNoneOfOursIs202) {
  Start({"alertmanager", "github"});
  EXPECT_EQ(Send(Signed("alertmanager", "{")).status, 400);
  EXPECT_EQ(Send(Signed("alertmanager", R"({"version":"1"})")).status, 400);
  http::Request star = Signed("github", R"({"action":"created","issue":{"id":1}})");
  star.headers.Add("X-GitHub-Event", "star");
  const http::Response ignored = Send(star);
  EXPECT_EQ(ignored.status, 202);
  EXPECT_THAT(ignored.body, HasSubstr("no rule takes this kind of event"));
  http::Request ping = Signed("github", R"({"zen":"x"})");
  ping.headers.Add("X-GitHub-Event", "ping");
  EXPECT_EQ(Send(ping).status, 200);
  EXPECT_EQ(Count("github", "probe"), 1U);
}

TEST_F(WebhookHandlerTest, RefusesOtherMethodsAndBodiesThatAreTooLargeOrPacked) {
  Start({"alertmanager"});
  http::Request get = Signed("alertmanager", "");
  get.method = "GET";
  EXPECT_EQ(Send(get).status, 405);
  EXPECT_EQ(Send(Signed("alertmanager", std::string((1 << 20) + 1, ' '))).status, 413);
  EXPECT_EQ(Send(Signed("alertmanager", std::string(1 << 20, ' '))).status, 400);
  http::Request packed = Signed("alertmanager", kFiring);
  packed.headers.Add("Content-Encoding", "gzip");
  EXPECT_EQ(Send(packed).status, 400);
}

TEST_F(WebhookHandlerTest, OverloadIs503WithATimeToTryAgain) {
  rates_.allowance.wait = absl::Seconds(7);
  Start({"alertmanager", "slack"});
  const http::Response busy = Send(Signed("alertmanager", kFiring));
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.headers.Get("Retry-After"), "7");
  EXPECT_EQ(Count("alertmanager", "overloaded"), 1U);
  // Slack shows its users nothing but what comes with 200.
  const http::Response slack = Send(Signed("slack", "command=%2Fgalen&text=x&trigger_id=1"));
  EXPECT_EQ(slack.status, 200);
  EXPECT_THAT(slack.body, HasSubstr("try again"));
}

TEST_F(WebhookHandlerTest, MoreAtOnceThanThereIsRoomForIs503) {
  options_.most_at_once = 0;
  Start({"alertmanager"});
  const http::Response busy = Send(Signed("alertmanager", kFiring));
  EXPECT_EQ(busy.status, 503);
  EXPECT_TRUE(busy.headers.Has("Retry-After"));
}

TEST_F(WebhookHandlerTest, SlackIsAnsweredAsItWants) {
  Start({"slack"});
  const json body = json::parse(
      Send(Signed("slack", "command=%2Fgalen&text=job+hangs+on+n1&trigger_id=1.2.3")).body);
  EXPECT_EQ(body["response_type"], "ephemeral");
  EXPECT_THAT(body["text"].get<std::string>(), HasSubstr("tenants/acme/diagnoses/wh-"));
  EXPECT_EQ(orchestrator_.AwaitAsked(1)[0].diagnosis().incident().description(),
            "job hangs on n1\n");
  const json empty =
      json::parse(Send(Signed("slack", "command=%2Fgalen&text=&trigger_id=1.2.4")).body);
  EXPECT_THAT(empty["text"].get<std::string>(), HasSubstr("say in a sentence"));
}

TEST_F(WebhookHandlerTest, EventsAreKeptWhileTheOrchestratorIsAwayAndDeliveredLater) {
  orchestrator_.SetStatus(absl::UnavailableError("away"));
  Start({"alertmanager"});
  const json body = json::parse(Send(Signed("alertmanager", kFiring)).body);
  orchestrator_.AwaitAsked(3);
  EXPECT_EQ(webhook_journal_->waiting(), 1U);
  orchestrator_.SetStatus(absl::OkStatus());
  while (webhook_journal_->waiting() > 0) std::this_thread::yield();
  for (const auto& asked : orchestrator_.AwaitAsked(4)) {
    EXPECT_EQ(absl::StrCat("tenants/acme/diagnoses/", asked.diagnosis_id()), body["name"]);
    EXPECT_EQ(asked.request_id(), asked.diagnosis_id());
  }
}

TEST_F(WebhookHandlerTest, WhatTheOrchestratorRefusesForGoodIsCountedAndNotAskedAgain) {
  orchestrator_.SetStatus(absl::InvalidArgumentError("no"));
  Start({"alertmanager"});
  Send(Signed("alertmanager", kFiring));
  while (webhook_journal_->waiting() > 0) std::this_thread::yield();
  Stop();
  EXPECT_EQ(dispatcher_->refused(), 1U);
  EXPECT_EQ(orchestrator_.AwaitAsked(1).size(), 1U);
}

TEST_F(WebhookHandlerTest, WhatAnotherGatewayLeftBehindIsDelivered) {
  Start({"alertmanager"});
  WebhookJournal other((*store_)->journal(), clock_, *executor_, WebhookJournal::Options());
  ASSERT_THAT(other.Open(), IsOk());
  v1::WebhookEvent event;
  event.set_action(v1::WebhookEvent::OPEN);
  event.set_incident("i");
  event.set_event("e");
  event.mutable_request()->set_parent("tenants/acme");
  other.Take("alertmanager", {event}, [](const absl::StatusOr<std::vector<Outcome>>&) {});
  EXPECT_EQ(orchestrator_.AwaitAsked(1)[0].parent(), "tenants/acme");
  Stop();
}

}  // namespace
}  // namespace galen::gateway::webhooks
