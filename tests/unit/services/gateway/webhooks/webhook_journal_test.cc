#include "services/gateway/webhooks/webhook_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/store.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/status_matchers.h"

namespace galen::gateway::webhooks {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::WebhookEvent Make(v1::WebhookEvent::Action action, const std::string& incident,
                      const std::string& id, std::int64_t seconds = 0) {
  v1::WebhookEvent event;
  event.set_action(action);
  event.set_incident(incident);
  event.set_event(id);
  if (seconds > 0) event.mutable_event_time()->set_seconds(seconds);
  if (action == v1::WebhookEvent::OPEN) {
    event.mutable_request()->set_parent("tenants/acme");
    event.mutable_request()->mutable_diagnosis()->mutable_incident()->set_description(id);
  }
  return event;
}
v1::WebhookEvent Open(const std::string& incident, const std::string& id, std::int64_t at = 0) {
  return Make(v1::WebhookEvent::OPEN, incident, id, at);
}
v1::WebhookEvent Close(const std::string& incident, const std::string& id, std::int64_t at = 0) {
  return Make(v1::WebhookEvent::CLOSE, incident, id, at);
}
v1::WebhookEvent Update(const std::string& incident, const std::string& id) {
  return Make(v1::WebhookEvent::UPDATE, incident, id);
}

// A journal that can be unavailable: before a request is executed, or after.
class FlakyJournal final : public store::Journal {
 public:
  explicit FlakyJournal(store::Journal& real) : real_(real) {}
  absl::StatusOr<std::int64_t> Append(absl::string_view journal,
                                      absl::Span<const std::string> records) override {
    if (away) return absl::UnavailableError("away");
    auto appended = real_.Append(journal, records);
    if (loses_answers) return absl::UnavailableError("the answer got lost");
    return appended;
  }
  absl::StatusOr<std::vector<store::JournalEntry>> Read(absl::string_view journal,
                                                        std::int64_t after, int limit) override {
    if (away) return absl::UnavailableError("away");
    return real_.Read(journal, after, limit);
  }
  absl::Status Trim(absl::string_view journal, std::int64_t position) override {
    return real_.Trim(journal, position);
  }
  bool away = false;
  bool loses_answers = false;

 private:
  store::Journal& real_;
};

class Inline final : public Executor {
 public:
  bool TrySchedule(absl::AnyInvocable<void() &&> task) override {
    if (full) return false;
    std::move(task)();
    return true;
  }
  bool full = false;
};

class WebhookJournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<WebhookJournal> OpenWebhookJournal(WebhookJournal::Options options = {}) {
    auto webhook_journal = std::make_unique<WebhookJournal>(journal_, clock_, executor_, options);
    EXPECT_THAT(webhook_journal->Open(), IsOk());
    return webhook_journal;
  }
  // The outcome of one event.
  absl::StatusOr<Outcome> Take(WebhookJournal& webhook_journal, v1::WebhookEvent event,
                               const std::string& endpoint = "in") {
    absl::StatusOr<Outcome> got = absl::InternalError("not called");
    webhook_journal.Take(endpoint, {std::move(event)},
                         [&](absl::StatusOr<std::vector<Outcome>> outcomes) {
                           if (outcomes.ok()) {
                             got = outcomes->at(0);
                           } else {
                             got = outcomes.status();
                           }
                         });
    return got;
  }
  Outcome Taken(WebhookJournal& webhook_journal, v1::WebhookEvent event,
                const std::string& endpoint = "in") {
    const auto outcome = Take(webhook_journal, std::move(event), endpoint);
    EXPECT_THAT(outcome, IsOk());
    return outcome.value_or(Outcome());
  }
  std::size_t Records() {
    return (*store_)->journal().Read("gateway.webhooks", 0, 1000).value().size();
  }

  absl::StatusOr<std::unique_ptr<store::Store>> store_ = store::OpenStore(":memory:");
  FlakyJournal journal_{(*store_)->journal()};
  testing::FakeClock clock_;
  Inline executor_;
};

TEST_F(WebhookJournalTest, AnEventThatComesTwiceIsOneDiagnosis) {
  const auto webhook_journal = OpenWebhookJournal();
  const Outcome first = Taken(*webhook_journal, Open("i", "e"));
  EXPECT_EQ(first.what, Outcome::kOpened);
  EXPECT_THAT(first.name, ::testing::StartsWith("tenants/acme/diagnoses/wh-"));
  const Outcome again = Taken(*webhook_journal, Open("i", "e"));
  EXPECT_EQ(again.what, Outcome::kRepeated);
  EXPECT_EQ(again.name, first.name);
  EXPECT_THAT(webhook_journal->Waiting(10), SizeIs(1));
  const std::string id = webhook_journal->Waiting(10)[0].request.diagnosis_id();
  EXPECT_EQ(first.name, absl::StrCat("tenants/acme/diagnoses/", id));
  EXPECT_EQ(webhook_journal->Waiting(10)[0].request.request_id(), id);
  EXPECT_LE(id.size(), 63U);
}

TEST_F(WebhookJournalTest, AnIncidentThatIsOpenOpensNoSecondDiagnosis) {
  const auto webhook_journal = OpenWebhookJournal();
  const std::string name = Taken(*webhook_journal, Open("i", "1")).name;
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "2")).name, name);
  const Outcome update = Taken(*webhook_journal, Update("i", "3"));
  EXPECT_EQ(std::make_pair(update.what, update.name), std::make_pair(Outcome::kUpdated, name));
  const Outcome close = Taken(*webhook_journal, Close("i", "4"));
  EXPECT_EQ(std::make_pair(close.what, close.name), std::make_pair(Outcome::kClosed, name));
  EXPECT_THAT(webhook_journal->Waiting(10), SizeIs(1));
  // Another incident, the same at another endpoint, and the same once more after its end.
  std::set<std::string> names = {name, Taken(*webhook_journal, Open("j", "5")).name,
                                 Taken(*webhook_journal, Open("i", "1"), "other").name,
                                 Taken(*webhook_journal, Open("i", "6")).name};
  EXPECT_EQ(names.size(), 4U);
  // An event from before the end is still a repeat.
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "2")).name, name);
}

TEST_F(WebhookJournalTest, WhatIsNotOpenCannotBeClosed) {
  const auto webhook_journal = OpenWebhookJournal();
  EXPECT_EQ(Taken(*webhook_journal, Close("i", "1")).what, Outcome::kUnknown);
  EXPECT_EQ(Taken(*webhook_journal, Update("i", "2")).what, Outcome::kUnknown);
  EXPECT_EQ(Taken(*webhook_journal, Close("i", "1")).name, "");
  EXPECT_THAT(webhook_journal->Waiting(10), IsEmpty());
  EXPECT_EQ(Records(), 0U);
}

TEST_F(WebhookJournalTest, WhatComesLateOpensAndClosesNothing) {
  const auto webhook_journal = OpenWebhookJournal();
  const std::string name = Taken(*webhook_journal, Open("i", "1", 100)).name;
  EXPECT_EQ(Taken(*webhook_journal, Close("i", "0", 99)).what, Outcome::kUpdated);
  EXPECT_EQ(Taken(*webhook_journal, Close("i", "2", 200)).what, Outcome::kClosed);
  const Outcome late = Taken(*webhook_journal, Open("i", "3", 150));
  EXPECT_EQ(std::make_pair(late.what, late.name), std::make_pair(Outcome::kRepeated, name));
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "4", 200)).what, Outcome::kOpened);
}

TEST_F(WebhookJournalTest, KnowsTheSameAfterARestart) {
  std::string name;
  {
    const auto webhook_journal = OpenWebhookJournal();
    name = Taken(*webhook_journal, Open("i", "1")).name;
    ASSERT_THAT(webhook_journal->SetCursor("in", "2026-11-18T00:00:00Z"), IsOk());
  }
  const auto webhook_journal = OpenWebhookJournal();
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "1")).name, name);
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "2")).name, name);
  ASSERT_THAT(webhook_journal->Waiting(10), SizeIs(1));
  EXPECT_EQ(webhook_journal->Waiting(10)[0].request.diagnosis().incident().description(), "1");
  EXPECT_EQ(webhook_journal->CursorOf("in"), "2026-11-18T00:00:00Z");
  ASSERT_THAT(webhook_journal->MarkDelivered({{"in", name, ""}}), IsOk());
  EXPECT_THAT(webhook_journal->Waiting(10), IsEmpty());
  EXPECT_THAT(OpenWebhookJournal()->Waiting(10), IsEmpty());
}

TEST_F(WebhookJournalTest, SeveralGatewaysDecideAlike) {
  const auto one = OpenWebhookJournal();
  const auto two = OpenWebhookJournal();
  const std::string name = Taken(*one, Open("i", "1")).name;
  EXPECT_EQ(Taken(*two, Open("i", "1")).name, name);
  EXPECT_EQ(Taken(*two, Open("i", "2")).name, name);
  EXPECT_EQ(Taken(*two, Close("i", "3")).what, Outcome::kClosed);
  const Outcome next = Taken(*one, Open("i", "4"));
  EXPECT_EQ(next.what, Outcome::kOpened);
  EXPECT_NE(next.name, name);
}

TEST_F(WebhookJournalTest, SeveralGatewaysAtOnceMakeOneDiagnosisAnIncident) {
  constexpr int kGateways = 4;
  constexpr int kIncidents = 50;
  std::vector<std::unique_ptr<WebhookJournal>> ledgers;
  for (int i = 0; i < kGateways; ++i) ledgers.push_back(OpenWebhookJournal());
  std::vector<std::vector<std::string>> names(kGateways);
  std::vector<std::thread> threads;
  for (int i = 0; i < kGateways; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < kIncidents; ++k) {
        names[i].push_back(
            Taken(*ledgers[i], Open(absl::StrCat("i", k), absl::StrCat("e", k, "-", i % 2))).name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 1; i < kGateways; ++i) EXPECT_EQ(names[i], names[0]);
  EXPECT_EQ(std::set<std::string>(names[0].begin(), names[0].end()).size(),
            static_cast<std::size_t>(kIncidents));
  ASSERT_THAT(ledgers[0]->Refresh(), IsOk());
  EXPECT_EQ(ledgers[0]->waiting(), static_cast<std::size_t>(kIncidents));
}

TEST_F(WebhookJournalTest, NothingIsTakenWhileTheStoreIsAway) {
  const auto webhook_journal = OpenWebhookJournal();
  journal_.away = true;
  EXPECT_THAT(Take(*webhook_journal, Open("i", "1")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot be stored")));
  EXPECT_THAT(webhook_journal->Waiting(10), IsEmpty());
  journal_.away = false;
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "1")).what, Outcome::kOpened);
}

TEST_F(WebhookJournalTest, AWriteWhoseAnswerGotLostIsFoundWhenTheSenderComesAgain) {
  const auto webhook_journal = OpenWebhookJournal();
  journal_.loses_answers = true;
  EXPECT_FALSE(Take(*webhook_journal, Open("i", "1")).ok());
  journal_.loses_answers = false;
  EXPECT_EQ(Taken(*webhook_journal, Open("i", "1")).what, Outcome::kRepeated);
  EXPECT_THAT(webhook_journal->Waiting(10), SizeIs(1));
}

TEST_F(WebhookJournalTest, RefusesMoreThanItCanHold) {
  const auto webhook_journal = OpenWebhookJournal({.most_waiting = 2});
  Taken(*webhook_journal, Open("1", "1"));
  Taken(*webhook_journal, Open("2", "2"));
  EXPECT_THAT(Take(*webhook_journal, Open("3", "3")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("wait for the orchestrator")));
  executor_.full = true;
  const auto other = OpenWebhookJournal();
  EXPECT_THAT(Take(*other, Open("4", "4")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("tasks")));
  executor_.full = false;
  EXPECT_THAT(Take(*other, Open("4", "4")), IsOk());
}

TEST_F(WebhookJournalTest, EventsOfOneDeliveryAreTakenTogether) {
  const auto webhook_journal = OpenWebhookJournal();
  std::vector<Outcome> got;
  webhook_journal->Take(
      "in", {Open("1", "1"), Open("1", "2"), Close("1", "3"), Open("2", "4")},
      [&](absl::StatusOr<std::vector<Outcome>> outcomes) { got = outcomes.value(); });
  ASSERT_THAT(got, SizeIs(4));
  EXPECT_EQ(got[0].what, Outcome::kOpened);
  EXPECT_EQ(got[1].name, got[0].name);
  EXPECT_EQ(got[3].what, Outcome::kOpened);
}

TEST_F(WebhookJournalTest, ForgetsWhatIsOldAndKeepsWhatIsSpokenOf) {
  const auto webhook_journal = OpenWebhookJournal();
  const std::string old = Taken(*webhook_journal, Open("old", "1")).name;
  const std::string kept = Taken(*webhook_journal, Open("kept", "2")).name;
  ASSERT_THAT(webhook_journal->SetCursor("in", "2026-11-18T00:00:00Z"), IsOk());
  ASSERT_THAT(webhook_journal->MarkDelivered({{"in", old, ""}, {"in", kept, ""}}), IsOk());
  for (int day = 1; day <= 40; ++day) {
    clock_.Advance(absl::Hours(25));
    EXPECT_EQ(Taken(*webhook_journal, Update("kept", absl::StrCat("u", day))).name, kept);
    ASSERT_THAT(webhook_journal->Trim(), IsOk());
  }
  EXPECT_LT(Records(), 40U);
  const auto fresh = OpenWebhookJournal();
  EXPECT_EQ(fresh->CursorOf("in"), "2026-11-18T00:00:00Z");
  EXPECT_EQ(Taken(*fresh, Open("kept", "new")).name, kept);
  EXPECT_EQ(Taken(*fresh, Open("old", "new too")).what, Outcome::kOpened);
}

TEST_F(WebhookJournalTest, ForgetsNothingThatIsStillToBeDelivered) {
  const auto webhook_journal = OpenWebhookJournal();
  const std::string name = Taken(*webhook_journal, Open("i", "1")).name;
  clock_.Advance(absl::Hours(24 * 100));
  Taken(*webhook_journal, Open("j", "2"));
  ASSERT_THAT(webhook_journal->Trim(), IsOk());
  EXPECT_THAT(OpenWebhookJournal()->Waiting(10), SizeIs(2));
  EXPECT_EQ(Taken(*OpenWebhookJournal(), Open("i", "1")).name, name);
}

}  // namespace
}  // namespace galen::gateway::webhooks
