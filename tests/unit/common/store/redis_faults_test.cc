// The promises of docs/store.md for one Redis server, measured on one that is killed, stopped, cut
// off, full, or misconfigured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/store/answer_cache.h"
#include "tests/testing/redis/redis_server.h"
#include "tests/testing/redis/tcp_peer.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/store/store_conformance.h"
#include "tests/unit/common/store/writers.h"

namespace galen::store {
namespace redis_faults_test {

using ::galen::testing::Eventually;
using ::galen::testing::IsOk;
using ::galen::testing::RedisServer;
using ::galen::testing::RelayTo;
using ::galen::testing::StatusIs;
using ::galen::testing::TcpPeer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kName[] = "tenants/acme/diagnoses/one";

std::unique_ptr<Store> Open(const std::string& where) {
  absl::StatusOr<std::unique_ptr<Store>> store = OpenStore(where);
  EXPECT_THAT(store, IsOk());
  return *std::move(store);
}

// docs/store.md, "Guarantees": a crash of Redis, appendfsync always.
TEST(RedisSingleFaultsTest, KilledWithFsyncAlwaysItLosesNothingAcknowledgedAndDoublesNothing) {
  RedisServer server({{"--appendonly", "yes", "--appendfsync", "always"}});
  const auto store = Open(server.url() + "?timeout=30s");
  Writers writers(store->events(), 4);
  for (std::int64_t goal : {200, 500, 800}) {
    ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= goal; }));
    server.Kill(SIGKILL);
    server.Start();
  }
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= 1000; }));
  writers.Stop();
  EXPECT_EQ(writers.Check(), 0);
}

// The same, everysec: Redis writes to its file before it answers, but puts that off for up to two
// seconds while an fsync is under way. On a slow disk there is always one, so something is lost,
// perhaps a whole diagnosis that is younger.
TEST(RedisSingleFaultsTest, KilledWithFsyncEverySecondItLosesAtMostTheLastTwoSeconds) {
  for (const absl::Duration slow : {absl::ZeroDuration(), absl::Seconds(4)}) {
    RedisServer server(
        {.arguments = {"--appendonly", "yes", "--appendfsync", "everysec"}, .slow_sync = slow});
    const auto store = Open(server.url() + "?timeout=3s");
    Writers writers(store->events(), 4);
    ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= 2000; }));
    if (slow > absl::ZeroDuration()) {
      // Once it waited no longer, and has again something that it puts off.
      ASSERT_TRUE(Eventually([&] { return server.Info("aof_delayed_fsync") != "0"; }));
      ASSERT_TRUE(Eventually([&] { return server.Info("aof_buffer_length") != "0"; }));
    }
    server.Kill(SIGKILL);
    writers.Stop();
    server.Start();
    // The client waits a while before it connects again.
    ASSERT_TRUE(Eventually([&] { return store->events().List("", 1, "").ok(); }));
    const std::int64_t missing = writers.Check(writers.LastAsked() - absl::Seconds(2));
    const char* disk = slow > absl::ZeroDuration() ? "slow" : "fast";
    RecordProperty(absl::StrCat("acknowledged_", disk), static_cast<int>(writers.acknowledged()));
    RecordProperty(absl::StrCat("missing_", disk), static_cast<int>(missing));
  }
}

TEST(RedisSingleFaultsTest, AnswersOfModelsAreSharedAndARedisThatIsAwayCostsNoneOfThem) {
  RedisServer server({{"--appendonly", "yes", "--appendfsync", "always"}});
  const auto one = OpenAnswerCache(server.url(), 1);
  ASSERT_THAT(one, IsOk());
  SharedAnswerCache two(Open(server.url() + "?timeout=200ms"), absl::Hours(1),
                        absl::Milliseconds(100));
  (*one)->Put("d1", "answer");
  EXPECT_EQ(two.Get("d1"), "answer");
  EXPECT_EQ(two.Get("d2"), std::nullopt);
  server.Kill();
  EXPECT_EQ(two.Get("d1"), std::nullopt);
  two.Put("d3", "lost");
  server.Start();
  EXPECT_TRUE(Eventually([&] { return two.Get("d1") == "answer"; }));
  EXPECT_EQ(two.Get("d3"), std::nullopt);
}

// Without a file nothing is promised, and that is said when the store is opened.
TEST(RedisSingleFaultsTest, WithoutAFileItSaysSoAndForgets) {
  RedisServer server({{"--appendonly", "no", "--save", ""}});
  const auto store = Open(server.url());
  EXPECT_THAT(store->warnings(), ElementsAre(HasSubstr("appendonly yes")));
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  server.Kill(SIGKILL);
  server.Start();
  EXPECT_THAT(store->events().Read(kName, 0, 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(kName)));
}

TEST(RedisSingleFaultsTest, WarnsOfFsyncEverySecondAndNotOfAlways) {
  RedisServer server({{"--appendonly", "yes", "--appendfsync", "everysec"}});
  EXPECT_THAT(Open(server.url())->warnings(), ElementsAre(HasSubstr("everysec")));
  server.Ask({"CONFIG", "SET", "appendfsync", "always"});
  EXPECT_THAT(Open(server.url())->warnings(), IsEmpty());
}

// Every third answer to a script is lost on its way, after the script ran.
TEST(RedisSingleFaultsTest, LostAnswersDoubleNothing) {
  RedisServer server({{"--appendonly", "yes"}});
  std::atomic<int> scripts{0};
  std::atomic<int> cuts{0};
  TcpPeer relay([&](int socket) {
    RelayTo(server.port(), socket, [&](const std::string& sent) {
      if (!absl::StrContains(sent, "EVAL") || ++scripts % 3 != 0) return false;
      ++cuts;
      return true;
    });
  });
  const auto store = Open(absl::StrCat("redis://127.0.0.1:", relay.port(), "?timeout=30s"));
  for (int i = 0; i < 10; ++i) {
    const std::string name = absl::StrCat("tenants/acme/diagnoses/", i);
    EXPECT_EQ(store->events().Create(CreationOf(name, absl::StrCat("r", i))).value(), name);
    const auto lease = store->events().AcquireLease(name, "a", absl::Now(), absl::Hours(1));
    ASSERT_THAT(lease, IsOk());
    for (std::int64_t last = 1; last < 6; ++last) {
      v1::DiagnosisEvent event = NumberedEvent(last + 1);
      event.add_reasoned()->set_calls(1);
      ASSERT_EQ(store->events().Append(*lease, last, {event}).value(), last + 1);
    }
    const auto events = store->events().Read(name, 0, 100);
    ASSERT_THAT(events, IsOk());
    EXPECT_EQ(events->size(), 6u);
    EXPECT_THAT(store->events().ReleaseLease(*lease), IsOk());
    EXPECT_THAT(store->work().Push("q", absl::StrCat(i), "x"), IsOk());
  }
  EXPECT_EQ(store->events().List("tenants/acme", 100, "").value().names.size(), 10u);
  EXPECT_EQ(store->events().SpentOn("tenants/acme", "1970-01-01")->calls(), 50);
  EXPECT_EQ(store->work().Size("q").value(), 10);
  EXPECT_GT(cuts, 20);
}

// The commands that a stopped server finds when it goes on are those of attempts given up long ago.
TEST(RedisSingleFaultsTest, WhatAStoppedServerCarriesOutLateCountsOnce) {
  RedisServer server({{"--appendonly", "yes"}});
  const auto store = Open(server.url() + "?timeout=30s&answer=50ms");
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  const Lease lease = store->events().AcquireLease(kName, "a", absl::Now(), absl::Hours(1)).value();
  // The server knows the script from here on, so that it executes what it finds later.
  ASSERT_THAT(store->events().Append(lease, 1, {NumberedEvent(2)}), IsOk());
  std::atomic<bool> done{false};
  absl::StatusOr<std::int64_t> last;
  server.Signal(SIGSTOP);
  std::thread writer([&] {
    last = store->events().Append(lease, 2, {NumberedEvent(3)});
    done = true;
  });
  absl::SleepFor(absl::Milliseconds(300));  // some attempts; their number does not matter
  EXPECT_FALSE(done);
  server.Signal(SIGCONT);
  writer.join();
  ASSERT_THAT(last, IsOk());
  EXPECT_EQ(*last, 3);
  EXPECT_EQ(store->events().Append(lease, 3, {NumberedEvent(4)}).value(), 4);
  EXPECT_EQ(store->events().Read(kName, 0, 10).value().size(), 4u);
}

TEST(RedisSingleFaultsTest, AServerThatIsAwayIsUnavailableAndTheStoreGoesOnWhenItIsBack) {
  RedisServer server({{"--appendonly", "yes", "--appendfsync", "always"}});
  const auto store = Open(server.url() + "?timeout=200ms");
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  server.Kill();
  EXPECT_THAT(store->events().Read(kName, 0, 1),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat(server.port())), HasSubstr("tried for"))));
  server.Start();
  EXPECT_TRUE(Eventually([&] { return store->events().Read(kName, 0, 1).ok(); }));
}

TEST(RedisSingleFaultsTest, AServerThatForgotItsScriptsGetsThemAgain) {
  RedisServer server({});
  const auto store = Open(server.url());
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  server.Ask({"SCRIPT", "FLUSH"});
  EXPECT_THAT(store->events().AcquireLease(kName, "a", absl::Now(), absl::Hours(1)), IsOk());
}

TEST(RedisSingleFaultsTest, AFullMemoryIsUnavailableAndStoresNoHalf) {
  RedisServer server({});
  const auto store = Open(server.url() + "?timeout=200ms");
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  const Lease lease = store->events().AcquireLease(kName, "a", absl::Now(), absl::Hours(1)).value();
  server.Ask({"CONFIG", "SET", "maxmemory", "1mb"});
  EXPECT_THAT(store->events().Append(lease, 1, {NumberedEvent(2), NumberedEvent(3)}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("maxmemory")));
  server.Ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(store->events().Read(kName, 0, 10).value().size(), 1u);
  EXPECT_EQ(store->events().Append(lease, 1, {NumberedEvent(2), NumberedEvent(3)}).value(), 3);
}

TEST(RedisSingleFaultsTest, ReportsAGapAndWhatIsNoEventAsDataLoss) {
  RedisServer server({});
  const auto store = Open(server.url());
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  const Lease lease = store->events().AcquireLease(kName, "a", absl::Now(), absl::Hours(1)).value();
  ASSERT_THAT(store->events().Append(lease, 1, {NumberedEvent(2), NumberedEvent(3)}), IsOk());
  const auto log = server.Ask({"KEYS", "galen:*:log:*"});
  ASSERT_EQ(log.elements.size(), 1u);
  server.Ask({"XDEL", log.elements[0].text, "2-0"});
  EXPECT_THAT(store->events().Read(kName, 0, 10),
              StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("event 2"), HasSubstr(kName))));
  server.Ask({"XADD", log.elements[0].text, "4-0", "e", "\xff\xff\xff"});
  EXPECT_THAT(store->events().Read(kName, 3, 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("event 4")));
}

TEST(RedisSingleFaultsTest, ReportsKeysOfAnotherKindAsDataLoss) {
  RedisServer server({});
  const auto store = Open(server.url());
  ASSERT_THAT(store->events().Create(CreationOf(kName)), IsOk());
  const std::string head = server.Ask({"KEYS", "galen:*:head:*"}).elements.at(0).text;
  server.Ask({"SET", head, "x"});
  EXPECT_THAT(store->events().AcquireLease(kName, "a", absl::Now(), absl::Hours(1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("prefix")));
}

TEST(RedisSingleFaultsTest, RefusesARedisThatWouldMakeRoomByDeletingAndANewerFormat) {
  RedisServer server({});
  server.Ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  EXPECT_THAT(OpenStore(server.url()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("noeviction")));
  server.Ask({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  EXPECT_THAT(OpenStore(server.url()), IsOk());
  server.Ask({"SET", "galen:format", "99"});
  EXPECT_THAT(OpenStore(server.url()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("format 99")));
}

TEST(RedisSingleFaultsTest, PrefixesAndDatabasesKeepStoresApart) {
  RedisServer server({});
  const auto one = Open(server.url() + "?prefix=one");
  ASSERT_THAT(one->events().Create(CreationOf(kName)), IsOk());
  for (const char* other : {"?prefix=two", "/1?prefix=one"}) {
    EXPECT_THAT(Open(server.url() + other)->events().Read(kName, 0, 1),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr(kName)));
  }
}

// The rights that docs/store.md names are enough, and an ACL without one of them is named.
TEST(RedisSingleFaultsTest, AUserOfTheAclNeedsNoMoreThanTheDocumentSays) {
  RedisServer server({});
  server.Ask({"ACL",    "SETUSER",  "galen",       "on",       ">secret", "resetkeys", "~galen:*",
              "-@all",  "+ping",    "+info",       "+role",    "+wait",   "+eval",     "+evalsha",
              "+@hash", "+@stream", "+@sortedset", "+@string", "+del",    "+exists",   "+pexpire"});
  server.Ask({"ACL", "SETUSER", "weak", "on", ">secret", "~galen:*", "-@all", "+ping", "+info",
              "+get", "+set"});
  server.Ask({"ACL", "SETUSER", "default", ">other"});
  const std::string at = absl::StrCat("127.0.0.1:", server.port());
  const auto store = Open("redis://galen:secret@" + at);
  Writers writers(store->events(), 1);
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= 3; }));
  writers.Stop();
  EXPECT_EQ(writers.Check(), 0);
  EXPECT_THAT(store->events().List("", 10, ""), IsOk());
  EXPECT_THAT(store->events().ListOrphans(absl::Now()), IsOk());
  EXPECT_THAT(store->events().SpentOn("tenants/acme", "2026-02-14"), IsOk());
  EXPECT_THAT(store->work().Push("q", "a", "x"), IsOk());
  EXPECT_EQ(store->work().Take("q", "w", 1, absl::Hours(1)).value().size(), 1u);
  EXPECT_THAT(store->values().Put("s", "k", "v", absl::Now(), absl::Hours(1)), IsOk());
  EXPECT_THAT(store->values().Get("s", "k", absl::Now()), IsOk());
  EXPECT_THAT(store->rates().Take("t", {}, 1, absl::Now()), IsOk());
  EXPECT_THAT(store->nodes().Announce({{"n", "r", absl::Now()}}), IsOk());
  EXPECT_THAT(store->nodes().List(absl::Now()), IsOk());

  EXPECT_THAT(OpenStore("redis://galen:wrong@" + at),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("user \"galen\""), Not(HasSubstr("wrong@")))));
  EXPECT_THAT(OpenStore("redis://" + at),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("--store")));
  EXPECT_THAT(Open("redis://weak:secret@" + at)->events().Create(CreationOf(kName)),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("evalsha")));
}

// A write that cannot be replicated as --store asks is not acknowledged, and not stored twice.
TEST(RedisSingleFaultsTest, WithoutTheReplicasItAsksForNothingIsAcknowledged) {
  RedisServer server({});
  ASSERT_THAT(Open(server.url())->events().Create(CreationOf(kName)), IsOk());
  EXPECT_THAT(OpenStore(server.url() + "?replicas=1&timeout=200ms&answer=100ms"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("0 replicas of the 1")));
}

}  // namespace redis_faults_test
}  // namespace galen::store
