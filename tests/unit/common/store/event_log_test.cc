// Requirements of every EventLog, for any backend: store_conformance.h describes how they are
// tested.
#include "common/store/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/store/store_conformance.h"

namespace galen::store {

namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kName[] = "tenants/acme/diagnoses/one";
const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

v1::DiagnosisEvent CreatedEvent(const std::string& name, const std::string& request_id = "") {
  v1::DiagnosisEvent event;
  event.mutable_created()->set_name(name);
  event.mutable_created()->set_request_id(request_id);
  return event;
}

v1::DiagnosisEvent CheckEvent(const std::string& id) {
  v1::DiagnosisEvent event;
  event.mutable_check_completed()->mutable_result()->set_id(id);
  return event;
}

class EventLogTest : public StoreTest {
 protected:
  Lease Create(const std::string& name) {
    EXPECT_THAT(log_->Create(CreatedEvent(name)), IsOk());
    return Acquire(name, "a");
  }
  Lease Acquire(const std::string& name, const std::string& owner) {
    const absl::StatusOr<Lease> lease = log_->AcquireLease(name, owner, kNow, absl::Seconds(15));
    EXPECT_THAT(lease, IsOk());
    return lease.value_or(Lease{});
  }
  std::vector<std::string> Ids(std::int64_t after, int limit) {
    std::vector<std::string> ids;
    const std::vector<v1::DiagnosisEvent> events = log_->Read(kName, after, limit).value();
    for (const v1::DiagnosisEvent& event : events) {
      ids.push_back(absl::StrCat(event.sequence(), ":", event.check_completed().result().id()));
    }
    return ids;
  }

  EventLog* const log_ = &store_->events();
};

TEST_P(EventLogTest, GivesTheCreatedEventSequenceOne) {
  Create(kName);
  const auto events = log_->Read(kName, 0, 10);
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].sequence(), 1);
  EXPECT_EQ((*events)[0].created().name(), kName);
}

TEST_P(EventLogTest, RefusesATakenName) {
  Create(kName);
  EXPECT_THAT(log_->Create(CreatedEvent(kName)),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(kName)));
}

TEST_P(EventLogTest, RefusesANameWithoutTenant) {
  EXPECT_THAT(log_->Create(CreatedEvent("one")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("tenants/")));
}

TEST_P(EventLogTest, ARepeatedRequestGivesTheFirstName) {
  ASSERT_THAT(log_->Create(CreatedEvent(kName, "r1")), IsOk());
  EXPECT_EQ(log_->Create(CreatedEvent("tenants/acme/diagnoses/two", "r1")).value(), kName);
  EXPECT_THAT(log_->Read("tenants/acme/diagnoses/two", 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("two")));
}

TEST_P(EventLogTest, RequestIdsOfTenantsAreApart) {
  ASSERT_THAT(log_->Create(CreatedEvent(kName, "r1")), IsOk());
  EXPECT_EQ(log_->Create(CreatedEvent("tenants/other/diagnoses/one", "r1")).value(),
            "tenants/other/diagnoses/one");
}

TEST_P(EventLogTest, EmptyRequestIdsAreNoKey) {
  ASSERT_THAT(log_->Create(CreatedEvent(kName)), IsOk());
  EXPECT_EQ(log_->Create(CreatedEvent("tenants/acme/diagnoses/two")).value(),
            "tenants/acme/diagnoses/two");
}

TEST_P(EventLogTest, AppendsInOrderAndNumbersDensely) {
  const Lease lease = Create(kName);
  EXPECT_EQ(log_->Append(lease, 1, {CheckEvent("a"), CheckEvent("b")}).value(), 3);
  EXPECT_EQ(log_->Append(lease, 3, {CheckEvent("c")}).value(), 4);
  EXPECT_THAT(Ids(1, 10), ElementsAre("2:a", "3:b", "4:c"));
}

TEST_P(EventLogTest, AppendsLaterWithTheSameAnswers) {
  const Lease lease = Create(kName);
  // Requests made together are answered in order, each once.
  const std::vector<std::vector<v1::DiagnosisEvent>> events = {
      {CheckEvent("a"), CheckEvent("b")}, {CheckEvent("x")}, {CheckEvent("c")}};
  const std::int64_t expected[] = {1, 1, 3};
  std::vector<absl::StatusOr<std::int64_t>> answers(events.size(), absl::UnknownError("none"));
  std::latch answered(static_cast<std::ptrdiff_t>(events.size()));
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto take = [&answers, &answered, i](absl::StatusOr<std::int64_t> last) {
      answers[i] = std::move(last);
      answered.count_down();
    };
    auto at_once = log_->AppendLater(lease, expected[i], events[i], take);
    if (at_once.has_value()) take(*std::move(at_once));
  }
  answered.wait();
  EXPECT_EQ(answers[0].value(), 3);
  EXPECT_THAT(answers[1], StatusIs(absl::StatusCode::kAborted, HasSubstr(kName)));
  EXPECT_EQ(answers[2].value(), 4);
  EXPECT_THAT(Ids(1, 10), ElementsAre("2:a", "3:b", "4:c"));
}

TEST_P(EventLogTest, ReadsAfterASequenceUpToALimit) {
  const Lease lease = Create(kName);
  ASSERT_THAT(log_->Append(lease, 1, {CheckEvent("a"), CheckEvent("b"), CheckEvent("c")}), IsOk());
  EXPECT_THAT(Ids(2, 1), ElementsAre("3:b"));
  EXPECT_THAT(Ids(4, 10), IsEmpty());
}

TEST_P(EventLogTest, AnAppendThatExpectsAnotherEndStoresNothing) {
  const Lease lease = Create(kName);
  ASSERT_THAT(log_->Append(lease, 1, {CheckEvent("a")}), IsOk());
  EXPECT_THAT(log_->Append(lease, 1, {CheckEvent("b")}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("event 2")));
  EXPECT_THAT(Ids(1, 10), ElementsAre("2:a"));
}

TEST_P(EventLogTest, AnAppendUnderAnOldLeaseStoresNothing) {
  const Lease old_lease = Create(kName);
  const Lease new_lease =
      log_->AcquireLease(kName, "b", kNow + absl::Seconds(16), absl::Seconds(15)).value();
  EXPECT_GT(new_lease.token, old_lease.token);
  EXPECT_THAT(log_->Append(old_lease, 1, {CheckEvent("a")}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no longer the newest")));
  EXPECT_THAT(Ids(1, 10), IsEmpty());
  EXPECT_THAT(log_->Append(new_lease, 1, {CheckEvent("b")}), IsOk());
}

TEST_P(EventLogTest, AppendAndReadAndLeaseOfAnUnknownNameAreNotFound) {
  Lease lease;
  lease.diagnosis = kName;
  EXPECT_THAT(log_->Append(lease, 1, {CheckEvent("a")}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kName)));
  EXPECT_THAT(log_->Read(kName, 0, 1), StatusIs(absl::StatusCode::kNotFound, HasSubstr(kName)));
  EXPECT_THAT(log_->SetOver(kName, 1), StatusIs(absl::StatusCode::kNotFound, HasSubstr(kName)));
  EXPECT_THAT(log_->AcquireLease(kName, "a", kNow, absl::Seconds(1)),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kName)));
}

TEST_P(EventLogTest, AHeldLeaseIsRefusedToAnotherOwnerUntilItExpires) {
  Create(kName);
  EXPECT_THAT(log_->AcquireLease(kName, "b", kNow + absl::Seconds(14), absl::Seconds(15)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a holds the lease")));
  EXPECT_THAT(log_->AcquireLease(kName, "b", kNow + absl::Seconds(15), absl::Seconds(15)), IsOk());
}

TEST_P(EventLogTest, ItsOwnerRenewsALeaseUnderAGrowingToken) {
  const Lease first = Create(kName);
  const Lease second = Acquire(kName, "a");
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(second.expires, kNow + absl::Seconds(15));
  EXPECT_THAT(log_->Append(second, 1, {CheckEvent("a")}), IsOk());
}

TEST_P(EventLogTest, AReleasedLeaseIsFreeAndItsTokenStaysSpent) {
  const Lease first = Create(kName);
  ASSERT_THAT(log_->ReleaseLease(first), IsOk());
  const Lease second = Acquire(kName, "b");
  EXPECT_GT(second.token, first.token);
  EXPECT_THAT(log_->ReleaseLease(first),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("newest")));
}

TEST_P(EventLogTest, OrphansAreUnfinishedAndWithoutAValidLease) {
  Create(kName);
  const Lease over = Create("tenants/acme/diagnoses/over");
  ASSERT_THAT(log_->Create(CreatedEvent("tenants/acme/diagnoses/new")), IsOk());
  ASSERT_THAT(log_->SetOver(over.diagnosis, 1), IsOk());
  EXPECT_THAT(log_->ListOrphans(kNow).value(), ElementsAre("tenants/acme/diagnoses/new"));
  EXPECT_THAT(log_->ListOrphans(kNow + absl::Seconds(15)).value(),
              UnorderedElementsAre(kName, "tenants/acme/diagnoses/new"));
  ASSERT_THAT(log_->Append(over, 1, {CheckEvent("a")}), IsOk());
  EXPECT_EQ(log_->ListOrphans(kNow + absl::Seconds(15)).value().size(), 3u);
}

TEST_P(EventLogTest, ListsATenantNewestFirstPageByPage) {
  for (const char* id : {"a", "b", "c"}) Create(absl::StrCat("tenants/acme/diagnoses/", id));
  Create("tenants/other/diagnoses/d");
  const EventLog::Page first = log_->List("tenants/acme", 2, "").value();
  EXPECT_THAT(first.names, ElementsAre("tenants/acme/diagnoses/c", "tenants/acme/diagnoses/b"));
  const EventLog::Page second = log_->List("tenants/acme", 2, first.next_page_token).value();
  EXPECT_THAT(second.names, ElementsAre("tenants/acme/diagnoses/a"));
  EXPECT_EQ(second.next_page_token, "");
  EXPECT_EQ(log_->List("", 10, "").value().names.size(), 4u);
  EXPECT_THAT(log_->List("tenants/none", 10, "").value().names, IsEmpty());
}

TEST_P(EventLogTest, APageTokenTellsNothingOfOtherTenants) {
  const auto token = [&] { return log_->List("tenants/acme", 1, "").value().next_page_token; };
  for (const char* id : {"a", "b"}) Create(absl::StrCat("tenants/acme/diagnoses/", id));
  const std::string before = token();
  EXPECT_FALSE(before.empty());
  for (int i = 0; i < 5; ++i) Create(absl::StrCat("tenants/other/diagnoses/d", i));
  EXPECT_EQ(token(), before);
  EXPECT_EQ(before.find_first_of("0123456789"), std::string::npos) << before;
  // And is good for one tenant's list alone.
  EXPECT_THAT(log_->List("tenants/other", 1, before),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")));
}

TEST_P(EventLogTest, RefusesAPageTokenThatItDidNotGive) {
  Create("tenants/acme/diagnoses/a");
  for (const char* token : {"x", "-1", "0", "1", "1 OR 1", "tenants/acme/diagnoses/none"}) {
    EXPECT_THAT(log_->List("", 10, token),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")));
  }
}

TEST_P(EventLogTest, OfConcurrentAppendsAtTheSameEndOneWins) {
  const Lease lease = Create(kName);
  std::vector<absl::Status> outcomes(8);
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    writers.emplace_back(
        [&, i] { outcomes[i] = log_->Append(lease, 1, {CheckEvent(absl::StrCat(i))}).status(); });
  }
  for (std::thread& writer : writers) writer.join();
  int won = 0;
  for (const absl::Status& outcome : outcomes) {
    if (outcome.ok()) {
      ++won;
    } else {
      EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kAborted, HasSubstr(kName)));
    }
  }
  EXPECT_EQ(won, 1);
  EXPECT_EQ(Ids(1, 10).size(), 1u);
}

TEST_P(EventLogTest, ACreationRepeatedUnderTheSameNameAndRequestGivesThatName) {
  ASSERT_THAT(log_->Create(CreatedEvent(kName, "r1")), IsOk());
  EXPECT_EQ(log_->Create(CreatedEvent(kName, "r1")).value(), kName);
  EXPECT_THAT(log_->Create(CreatedEvent(kName, "r2")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(kName)));
  // The request that was refused is free for another name.
  EXPECT_EQ(log_->Create(CreatedEvent("tenants/acme/diagnoses/two", "r2")).value(),
            "tenants/acme/diagnoses/two");
}

TEST_P(EventLogTest, ReadsAThousandEventsInOneCall) {
  Lease lease = Create(kName);
  std::vector<v1::DiagnosisEvent> events;
  for (int i = 2; i <= 1000; ++i) events.push_back(CheckEvent(absl::StrCat(i)));
  ASSERT_EQ(log_->Append(lease, 1, events).value(), 1000);
  const auto read = log_->Read(kName, 0, 1000);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 1000u);
  EXPECT_EQ(read->back().check_completed().result().id(), "1000");
}

TEST_P(EventLogTest, ReadsEventsThatAreLargeTogether) {
  Lease lease = Create(kName);
  v1::DiagnosisEvent large;
  large.mutable_feedback_received()->set_text(std::string(3 << 20, 'x'));
  for (std::int64_t last = 1; last < 9; ++last) {
    ASSERT_THAT(log_->Append(lease, last, {large}), IsOk());
  }
  const auto read = log_->Read(kName, 1, 100);
  ASSERT_THAT(read, IsOk());
  ASSERT_EQ(read->size(), 8u);
  EXPECT_EQ(read->back().feedback_received().text(), large.feedback_received().text());
}

TEST_P(EventLogTest, AnOverDiagnosisIsNoOrphanAndOneThatGoesOnAgainIs) {
  const Lease lease = Create(kName);
  ASSERT_THAT(log_->Append(lease, 1, {CheckEvent("a")}), IsOk());
  ASSERT_THAT(log_->SetOver(kName, 2), IsOk());
  ASSERT_THAT(log_->ReleaseLease(lease), IsOk());
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
  const Lease again = Acquire(kName, "b");
  ASSERT_THAT(log_->ReleaseLease(again), IsOk());
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
  const Lease last = Acquire(kName, "a");
  ASSERT_THAT(log_->Append(last, 2, {CheckEvent("b")}), IsOk());
  ASSERT_THAT(log_->ReleaseLease(last), IsOk());
  EXPECT_THAT(log_->ListOrphans(kNow).value(), ElementsAre(kName));
}

TEST_P(EventLogTest, WhoSaysLateThatItWasOverDoesNotHideWhatWentOn) {
  const Lease slow = Create(kName);
  ASSERT_THAT(log_->Append(slow, 1, {CheckEvent("the last")}), IsOk());
  const Lease faster =
      log_->AcquireLease(kName, "b", kNow + absl::Minutes(1), absl::Seconds(15)).value();
  ASSERT_THAT(log_->Append(faster, 2, {CheckEvent("another round")}), IsOk());
  EXPECT_THAT(log_->SetOver(kName, 2), IsOk());
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), ElementsAre(kName));
  EXPECT_THAT(log_->SetOver(kName, 3), IsOk());
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
}

TEST_P(EventLogTest, OfConcurrentTakersOfAFreeLeaseOneHoldsIt) {
  ASSERT_THAT(log_->Create(CreatedEvent(kName)), IsOk());
  std::vector<absl::StatusOr<Lease>> leases(8);
  std::vector<std::thread> takers;
  for (std::size_t i = 0; i < leases.size(); ++i) {
    takers.emplace_back([&, i] {
      leases[i] = log_->AcquireLease(kName, absl::StrCat("owner", i), kNow, absl::Seconds(15));
    });
  }
  for (std::thread& taker : takers) taker.join();
  int held = 0;
  for (const absl::StatusOr<Lease>& lease : leases) held += lease.ok() ? 1 : 0;
  EXPECT_EQ(held, 1);
}

v1::DiagnosisEvent ModelEvent(std::int64_t seconds, int calls, std::int64_t tokens) {
  v1::DiagnosisEvent event;
  event.mutable_event_time()->set_seconds(seconds);
  event.mutable_critiqued();
  v1::Reasoned& reasoned = *event.add_reasoned();
  reasoned.set_calls(calls);
  reasoned.set_input_tokens(tokens);
  reasoned.set_output_tokens(tokens / 10);
  reasoned.set_cost_nanos(7);
  return event;
}

TEST_P(EventLogTest, AccountsForModelsByTenantAndDay) {
  constexpr std::int64_t kNoon = 1'700'049'600;  // 2023-11-15 12:00 UTC
  constexpr std::int64_t kDay = 86'400;
  const Lease one = Create(kName);
  const Lease two = Create("tenants/acme/diagnoses/two");
  const Lease other = Create("tenants/other/diagnoses/one");
  EXPECT_EQ(log_->SpentOn("tenants/acme", "2023-11-15")->calls(), 0);
  ASSERT_THAT(log_->Append(one, 1, {ModelEvent(kNoon, 1, 100), ModelEvent(kNoon + kDay, 4, 1)}),
              IsOk());
  ASSERT_THAT(log_->Append(two, 1, {ModelEvent(kNoon, 2, 1000), CheckEvent("c")}), IsOk());
  ASSERT_THAT(log_->Append(other, 1, {ModelEvent(kNoon, 50, 5)}), IsOk());
  const auto spent = log_->SpentOn("tenants/acme", "2023-11-15");
  ASSERT_THAT(spent, IsOk());
  EXPECT_EQ(spent->calls(), 3);
  EXPECT_EQ(spent->input_tokens(), 1100);
  EXPECT_EQ(spent->output_tokens(), 110);
  EXPECT_EQ(spent->cost_nanos(), 14);
  EXPECT_EQ(log_->SpentOn("tenants/acme", "2023-11-16")->calls(), 4);
  EXPECT_EQ(log_->SpentOn("tenants/other", "2023-11-15")->calls(), 50);
}

TEST_P(EventLogTest, WhatIsNotAppendedIsNotSpent) {
  const Lease lease = Create(kName);
  EXPECT_FALSE(log_->Append(lease, 7, {ModelEvent(1'700'049'600, 1, 100)}).ok());
  EXPECT_EQ(log_->SpentOn("tenants/acme", "2023-11-15")->calls(), 0);
  // Negative counts, which no endpoint can report, are ignored.
  ASSERT_THAT(log_->Append(lease, 1, {ModelEvent(1'700'049'600, -5, -100)}), IsOk());
  EXPECT_EQ(log_->SpentOn("tenants/acme", "2023-11-15")->input_tokens(), 0);
}

TEST_P(EventLogTest, AnAccountStopsAtTheLargestNumber) {
  const Lease lease = Create(kName);
  v1::DiagnosisEvent event = ModelEvent(1'700'049'600, 1, INT64_MAX);
  while (event.reasoned_size() < 5000) *event.add_reasoned() = event.reasoned(0);
  ASSERT_THAT(log_->Append(lease, 1, {event}), IsOk());
  ASSERT_THAT(log_->Append(lease, 2, {event}), IsOk());
  const auto spent = log_->SpentOn("tenants/acme", "2023-11-15");
  ASSERT_THAT(spent, IsOk());
  EXPECT_EQ(spent->calls(), 10'000);
  EXPECT_EQ(spent->input_tokens(), INT64_MAX);
}

INSTANTIATE_STORE_TESTS(EventLogTest);

}  // namespace
}  // namespace galen::store
