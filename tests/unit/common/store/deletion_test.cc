// Deletions of every EventLog, for any backend, and what an interruption leaves in Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/store/redis/config.h"
#include "common/store/redis_event_scripts.h"
#include "common/store/redis_keys.h"
#include "common/store/redis_parts.h"
#include "tests/testing/scratch.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/store/store_conformance.h"
#include "tests/unit/common/store/writers.h"

namespace galen::store {
namespace deletion_test {

using ::galen::testing::Eventually;
using ::galen::testing::IsOk;
using ::galen::testing::RedisServer;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kName[] = "tenants/acme/diagnoses/one";
constexpr char kTwo[] = "tenants/acme/diagnoses/two";
const absl::Time kNow = absl::FromUnixSeconds(1'700'049'600);  // 2023-11-15 12:00 UTC

v1::DiagnosisEvent ModelEvent(absl::Time when, int calls) {
  v1::DiagnosisEvent event;
  event.mutable_event_time()->set_seconds(absl::ToUnixSeconds(when));
  event.mutable_critiqued();
  event.add_reasoned()->set_calls(calls);
  return event;
}

class DeletionTest : public StoreTest {
 protected:
  Lease Create(const std::string& name, const std::string& request_id = "") {
    EXPECT_THAT(log_->Create(CreationOf(name, request_id)), IsOk());
    return Acquire(name);
  }
  Lease Acquire(const std::string& name, const std::string& owner = "a") {
    const auto lease = log_->AcquireLease(name, owner, kNow, absl::Seconds(15));
    EXPECT_THAT(lease, IsOk());
    return lease.value_or(Lease{});
  }
  std::vector<std::string> Oldest(const std::string& parent) {
    return log_->ListOldest(parent, 0, 100).value().names;
  }

  EventLog* const log_ = &store_->events();
};

TEST_P(DeletionTest, LeavesNothingButTheErrorThatSaysSo) {
  const Lease lease = Create(kName, "r1");
  ASSERT_THAT(log_->Append(lease, 1, {NumberedEvent(2), NumberedEvent(3)}), IsOk());
  ASSERT_THAT(log_->SetOver(kName, 3), IsOk());
  ASSERT_THAT(log_->Delete(lease, 3, kNow), IsOk());
  const auto deleted = [](const auto& result) {
    EXPECT_THAT(result, StatusIs(absl::StatusCode::kNotFound,
                                 HasSubstr("was deleted at 2023-11-15T12:00Z")));
  };
  deleted(log_->Read(kName, 0, 10));
  deleted(log_->Append(lease, 3, {NumberedEvent(4)}));
  deleted(log_->SetOver(kName, 3));
  deleted(log_->AcquireLease(kName, "b", kNow, absl::Seconds(15)));
  EXPECT_THAT(log_->List("tenants/acme", 10, "").value().names, IsEmpty());
  EXPECT_THAT(log_->List("", 10, "").value().names, IsEmpty());
  EXPECT_THAT(Oldest(""), IsEmpty());
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(), IsEmpty());
  // Its name stays taken for a while, and its request id is free.
  EXPECT_THAT(log_->Create(CreationOf(kName)),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("was deleted")));
  EXPECT_THAT(log_->Create(CreationOf(kName, "r2")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("was deleted")));
  EXPECT_EQ(log_->Create(CreationOf(kTwo, "r1")).value(), kTwo);
  EXPECT_THAT(log_->List("tenants/acme", 10, "").value().names, ElementsAre(kTwo));
}

TEST_P(DeletionTest, NeedsTheNewestLeaseAndTheEndOfTheLog) {
  const Lease old_lease = Create(kName);
  const Lease lease =
      log_->AcquireLease(kName, "b", kNow + absl::Minutes(1), absl::Seconds(15)).value();
  ASSERT_THAT(log_->Append(lease, 1, {NumberedEvent(2)}), IsOk());
  EXPECT_THAT(log_->Delete(old_lease, 2, kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no longer the newest")));
  EXPECT_THAT(log_->Delete(lease, 1, kNow),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("event 2")));
  EXPECT_EQ(log_->Read(kName, 0, 10)->size(), 2u);
  Lease unknown;
  unknown.diagnosis = "tenants/acme/diagnoses/none";
  EXPECT_THAT(log_->Delete(unknown, 1, kNow),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such diagnosis")));
}

TEST_P(DeletionTest, LeavesTheOthersAlone) {
  const Lease one = Create(kName, "r1");
  const Lease two = Create(kTwo, "r2");
  const Lease other = Create("tenants/other/diagnoses/one", "r1");
  for (const Lease* lease : {&one, &two, &other}) {
    ASSERT_THAT(log_->Append(*lease, 1, {NumberedEvent(2)}), IsOk());
  }
  ASSERT_THAT(log_->Delete(one, 2, kNow), IsOk());
  ASSERT_THAT(log_->Append(two, 2, {NumberedEvent(3)}), IsOk());
  const auto events = log_->Read(kTwo, 1, 10);
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].check_completed().result().id(), "2");
  EXPECT_EQ((*events)[1].check_completed().result().id(), "3");
  EXPECT_EQ(log_->Create(CreationOf("tenants/other/diagnoses/two", "r1")).value(),
            "tenants/other/diagnoses/one");
  EXPECT_THAT(log_->ListOrphans(absl::InfiniteFuture()).value(),
              UnorderedElementsAre(kTwo, "tenants/other/diagnoses/one"));
}

TEST_P(DeletionTest, ListsTheOldestFirstPageByPage) {
  for (const char* name : {kTwo, "tenants/other/diagnoses/x", kName}) Create(name);
  EXPECT_THAT(Oldest(""), ElementsAre(kTwo, "tenants/other/diagnoses/x", kName));
  EXPECT_THAT(Oldest("tenants/acme"), ElementsAre(kTwo, kName));
  const auto first = log_->ListOldest("", 0, 2).value();
  EXPECT_THAT(first.names, ElementsAre(kTwo, "tenants/other/diagnoses/x"));
  EXPECT_TRUE(first.more);
  EXPECT_THAT(log_->ListOldest("", first.position, 2).value().names, ElementsAre(kName));
  EXPECT_THAT(Oldest("tenants/none"), IsEmpty());
}

TEST_P(DeletionTest, FreesNoBudgetOfTheDayAndDropsOldAccounts) {
  const Lease lease = Create(kName);
  const absl::Time old = kNow - absl::Hours(24 * 10);
  ASSERT_THAT(log_->Append(lease, 1, {ModelEvent(old, 3), ModelEvent(kNow, 5)}), IsOk());
  ASSERT_THAT(log_->Delete(lease, 3, kNow), IsOk());
  EXPECT_EQ(log_->SpentOn("tenants/acme", "2023-11-15")->calls(), 5);
  EXPECT_EQ(log_->SpentOn("tenants/acme", "2023-11-05")->calls(), 0);
}

TEST_P(DeletionTest, OfConcurrentDeletersOneDeletes) {
  const Lease lease = Create(kName);
  ASSERT_THAT(log_->ReleaseLease(lease), IsOk());
  std::vector<absl::Status> outcomes(8);
  std::vector<std::thread> deleters;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    deleters.emplace_back([&, i] {
      const auto own = log_->AcquireLease(kName, absl::StrCat("owner", i), kNow, absl::Seconds(15));
      outcomes[i] = own.ok() ? log_->Delete(*own, 1, kNow) : own.status();
    });
  }
  for (std::thread& deleter : deleters) deleter.join();
  int deleted = 0;
  for (const absl::Status& outcome : outcomes) {
    deleted += outcome.ok() ? 1 : 0;
    EXPECT_TRUE(outcome.ok() || absl::IsFailedPrecondition(outcome) || absl::IsNotFound(outcome))
        << outcome;
  }
  EXPECT_EQ(deleted, 1);
}

TEST_P(DeletionTest, FinishingWhatWasNotBegunDoesNothing) {
  Create(kName);
  EXPECT_THAT(log_->FinishDeletion(kName), IsOk());
  EXPECT_THAT(log_->FinishDeletion("tenants/acme/diagnoses/none"), IsOk());
  EXPECT_EQ(log_->Read(kName, 0, 10)->size(), 1u);
  EXPECT_THAT(Oldest(""), ElementsAre(kName));
}

INSTANTIATE_STORE_TESTS(DeletionTest);

TEST(SqliteDeletion, HoldsAfterTheFileWasClosedWithEventsOfOthers) {
  const testing::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/galen.db";
  {
    const auto store = OpenStore(file).value();
    for (const char* name : {kName, kTwo}) {
      ASSERT_THAT(store->events().Create(CreationOf(name)), IsOk());
    }
    const Lease lease = store->events().AcquireLease(kName, "a", kNow, absl::Seconds(15)).value();
    ASSERT_THAT(store->events().Delete(lease, 1, kNow), IsOk());
  }
  const auto store = OpenStore(file).value();
  EXPECT_THAT(store->events().Read(kName, 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
  EXPECT_EQ(store->events().Read(kTwo, 0, 1)->size(), 1u);
}

TEST(SqliteDeletion, IsSeenByAnotherProcessThatKnewTheLog) {
  const testing::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/galen.db";
  const auto running = OpenStore(file).value();
  ASSERT_THAT(running->events().Create(CreationOf(kName)), IsOk());
  const Lease held = running->events().AcquireLease(kName, "a", kNow, absl::Seconds(15)).value();
  const absl::Time later = kNow + absl::Minutes(1);
  {
    const auto other = OpenStore(file).value();
    const Lease lease = other->events().AcquireLease(kName, "b", later, absl::Seconds(15)).value();
    ASSERT_THAT(other->events().Delete(lease, 1, later), IsOk());
  }
  EXPECT_THAT(running->events().Append(held, 1, {NumberedEvent(2)}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
  EXPECT_THAT(running->events().Read(kName, 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
}

// A Redis with one store, and its keys as they are.
class RedisDeletionTest : public ::testing::Test {
 protected:
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const redis::Reply& key : server_.Ask({"KEYS", "galen:*"}).elements) {
      keys.push_back(key.text);
    }
    return keys;
  }
  // The first step of a deletion, after which its process was killed.
  void BeginDeletion(const std::string& name) {
    const Lease lease = log_->AcquireLease(name, "a", kNow, absl::Seconds(15)).value();
    redis::Client client(redis::ParseUrl(server_.url()).value());
    const auto answer = AskScript(
        client,
        redis::Eval(DeleteScript(), /*write=*/true,
                    {keys_.Head(name), keys_.Log(name), keys_.Open(RedisKeys::BucketOf(name))},
                    {name, lease.owner, absl::StrCat(lease.token), "1",
                     absl::StrCat(absl::ToUnixMicros(kNow))}));
    ASSERT_THAT(answer, IsOk());
    ASSERT_EQ((*answer)[0], "ok");
  }

  RedisServer server_{{.arguments = {"--appendonly", "yes", "--appendfsync", "always"}}};
  const std::unique_ptr<Store> store_ = OpenStore(server_.url() + "?timeout=30s").value();
  EventLog* const log_ = &store_->events();
  const RedisKeys keys_{"galen"};
};

TEST_F(RedisDeletionTest, LeavesOnlyATombstoneThatExpires) {
  ASSERT_THAT(log_->Create(CreationOf(kName, "r1")), IsOk());
  const Lease lease = log_->AcquireLease(kName, "a", kNow, absl::Seconds(15)).value();
  const absl::Time old = kNow - absl::Hours(24 * 10);
  ASSERT_THAT(log_->Append(lease, 1, {ModelEvent(old, 3)}), IsOk());
  ASSERT_THAT(log_->Delete(lease, 2, kNow), IsOk());
  EXPECT_THAT(Keys(), UnorderedElementsAre("galen:format", keys_.Births(), keys_.Head(kName)));
  const std::int64_t left = server_.Ask({"PTTL", keys_.Head(kName)}).integer;
  EXPECT_GT(left, 0);
  EXPECT_LE(left, absl::ToInt64Milliseconds(kRememberDeleted));
  ASSERT_EQ(server_.Ask({"PEXPIRE", keys_.Head(kName), "1"}).integer, 1);
  ASSERT_TRUE(Eventually([&] { return Keys().size() == 2; }));
  EXPECT_THAT(log_->Read(kName, 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no such diagnosis")));
}

TEST_F(RedisDeletionTest, WhatAKillInterruptedIsInvisibleAndIsFinishedLater) {
  ASSERT_THAT(log_->Create(CreationOf(kName, "r1")), IsOk());
  BeginDeletion(kName);
  EXPECT_THAT(log_->Read(kName, 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("was deleted")));
  EXPECT_THAT(log_->List("tenants/acme", 10, "").value().names, IsEmpty());
  EXPECT_THAT(log_->ListOldest("", 0, 10).value().names, ElementsAre(kName));
  ASSERT_THAT(log_->FinishDeletion(kName), IsOk());
  ASSERT_THAT(log_->FinishDeletion(kName), IsOk());
  EXPECT_THAT(log_->ListOldest("", 0, 10).value().names, IsEmpty());
  EXPECT_THAT(Keys(), UnorderedElementsAre("galen:format", keys_.Births(), keys_.Head(kName)));
}

TEST_F(RedisDeletionTest, ARequestWhoseDiagnosisWasHalfDeletedMakesANewOne) {
  ASSERT_THAT(log_->Create(CreationOf(kName, "r1")), IsOk());
  BeginDeletion(kName);
  EXPECT_EQ(log_->Create(CreationOf(kTwo, "r1")).value(), kTwo);
  // The old deletion, finished late, leaves the new claim alone.
  ASSERT_THAT(log_->FinishDeletion(kName), IsOk());
  EXPECT_EQ(log_->Create(CreationOf("tenants/acme/diagnoses/three", "r1")).value(), kTwo);
}

TEST_F(RedisDeletionTest, SurvivesAKilledServer) {
  constexpr int kCount = 60;
  std::vector<std::string> names;
  for (int i = 0; i < kCount; ++i) {
    names.push_back(absl::StrCat("tenants/acme/diagnoses/d", i));
    ASSERT_THAT(log_->Create(CreationOf(names.back(), absl::StrCat("r", i))), IsOk());
  }
  int acknowledged = 0;
  std::thread deleter([&] {
    for (const std::string& name : names) {
      const auto lease = log_->AcquireLease(name, "a", kNow, absl::Seconds(15));
      if (lease.ok() && log_->Delete(*lease, 1, kNow).ok()) ++acknowledged;
    }
  });
  for (int i = 0; i < 2; ++i) {
    server_.Kill(SIGKILL);
    server_.Start();
  }
  deleter.join();
  EXPECT_EQ(acknowledged, kCount);
  EXPECT_EQ(Keys().size(), 2u + kCount);
}

}  // namespace deletion_test
}  // namespace galen::store
