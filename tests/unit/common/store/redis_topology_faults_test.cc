// The promises of docs/store.md for sentinels and clusters, measured on servers that fail and move.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/store/redis/slot.h"
#include "common/store/redis_keys.h"
#include "tests/testing/redis/redis_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/store/store_conformance.h"
#include "tests/unit/common/store/writers.h"

namespace galen::store {
namespace redis_topology_faults_test {

using ::galen::testing::Eventually;
using ::galen::testing::IsOk;
using ::galen::testing::RedisCluster;
using ::galen::testing::RedisSentinels;
using ::galen::testing::RedisServer;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<Store> Open(const std::string& where) {
  absl::StatusOr<std::unique_ptr<Store>> store = OpenStore(where);
  EXPECT_THAT(store, IsOk());
  return *std::move(store);
}

// A master dies in mid-append, twice. With replicas=1 the replica has all that was acknowledged.
TEST(RedisSentinelFaultsTest, AFailoverLosesNothingThatAReplicaHad) {
  RedisSentinels& servers = SharedSentinels();
  const auto store = Open(WithPrefix(servers.url()) + "&replicas=1&timeout=45s&answer=500ms");
  Writers writers(store->events(), 4);
  for (int turn = 0; turn < 2; ++turn) {
    const std::int64_t before = writers.acknowledged();
    ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= before + 200; }));
    RedisServer& old_master = servers.master();
    old_master.Kill(SIGKILL);
    ASSERT_TRUE(Eventually([&] { return &servers.master() != &old_master; }));
    old_master.Start();  // the sentinels make it a replica
  }
  const std::int64_t before = writers.acknowledged();
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= before + 200; }));
  writers.Stop();
  EXPECT_EQ(writers.Check(), 0);
  ASSERT_TRUE(Eventually([&] { return servers.replica().Info("master_link_status") == "up"; }));
}

TEST(RedisSentinelFaultsTest, WarnsWhenAFailoverMayTakeSomethingBack) {
  EXPECT_THAT(Open(WithPrefix(SharedSentinels().url()))->warnings(),
              ::testing::Contains(HasSubstr("replicas=1")));
}

TEST(RedisSentinelFaultsTest, AMasterThatNoSentinelKnowsIsNamed) {
  std::string url = SharedSentinels().url();
  url.replace(url.rfind("/main"), 5, "/other");
  EXPECT_THAT(OpenStore(url),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"other\"")));
}

// Moves a slot as `redis-cli --cluster reshard` does, key by key; `between` is called when half of
// the keys are on the other side.
void MigrateSlot(RedisCluster& cluster, int slot, int to, const std::function<void()>& between) {
  const int from = cluster.OwnerOf(slot);
  const std::string number = absl::StrCat(slot);
  cluster.node(to).Ask({"CLUSTER", "SETSLOT", number, "IMPORTING", cluster.IdOf(from)});
  cluster.node(from).Ask({"CLUSTER", "SETSLOT", number, "MIGRATING", cluster.IdOf(to)});
  const auto keys = cluster.node(from).Ask({"CLUSTER", "GETKEYSINSLOT", number, "100000"});
  std::size_t moved = 0;
  for (const auto& key : keys.elements) {
    cluster.node(from).Ask(
        {"MIGRATE", "127.0.0.1", absl::StrCat(cluster.node(to).port()), key.text, "0", "5000"});
    if (++moved == (keys.elements.size() + 1) / 2) between();
  }
  // Moves the keys created on the old side meanwhile.
  for (;;) {
    const auto rest = cluster.node(from).Ask({"CLUSTER", "GETKEYSINSLOT", number, "100"});
    if (rest.elements.empty()) break;
    for (const auto& key : rest.elements) {
      cluster.node(from).Ask(
          {"MIGRATE", "127.0.0.1", absl::StrCat(cluster.node(to).port()), key.text, "0", "5000"});
    }
  }
  cluster.node(to).Ask({"CLUSTER", "SETSLOT", number, "NODE", cluster.IdOf(to)});
  cluster.node(from).Ask({"CLUSTER", "SETSLOT", number, "NODE", cluster.IdOf(to)});
}

TEST(RedisClusterFaultsTest, SlotsMoveUnderWritersWithoutAFailedAppend) {
  RedisCluster& cluster = SharedCluster();
  const auto store = Open(WithPrefix(cluster.url()) + "&timeout=30s");
  Writers writers(store->events(), 4);
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= 100; }));
  for (int writer = 0; writer < 4; ++writer) {
    const std::string name = absl::StrCat("tenants/acme/diagnoses/w", writer);
    const int slot = redis::SlotOf(RedisKeys("galen").Head(name));
    const int to = (cluster.OwnerOf(slot) + 1) % 3;
    MigrateSlot(cluster, slot, to, [&] {
      // While some keys are there and some here, the others go on.
      const std::int64_t before = writers.acknowledged();
      ASSERT_TRUE(Eventually([&] { return writers.acknowledged() > before + 20; }));
    });
    EXPECT_EQ(cluster.OwnerOf(slot), to);
  }
  const std::int64_t before = writers.acknowledged();
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= before + 200; }));
  writers.Stop();
  for (int writer = 0; writer < 4; ++writer) EXPECT_THAT(writers.status(writer), IsOk());
  EXPECT_EQ(writers.Check(), 0);
  std::string redirections;
  for (int node = 0; node < 3; ++node) {
    absl::StrAppend(&redirections, cluster.node(node).Info("errorstat_ASK"),
                    cluster.node(node).Info("errorstat_MOVED"),
                    cluster.node(node).Info("errorstat_TRYAGAIN"));
  }
  EXPECT_THAT(redirections, HasSubstr("count="));
}

// One that was empty is served through -ASK alone, and by a client with an old map through -MOVED.
TEST(RedisClusterFaultsTest, FollowsAskForASingleKeyAndMovedAfterwards) {
  RedisCluster& cluster = SharedCluster();
  const auto store = Open(WithPrefix(cluster.url()));
  const auto old_map = Open(WithPrefix(cluster.url()));
  ASSERT_THAT(old_map->values().Get("s", "k", absl::Now()), IsOk());
  // A value is one key: while its slot moves, a key that is not there yet is asked for on the other
  // side.
  const std::string prefix = absl::StrCat("ask", absl::ToUnixMicros(absl::Now()));
  const auto asking = Open(cluster.url() + "?prefix=" + prefix);
  const int slot = redis::SlotOf(RedisKeys(prefix).Value("s", "k"));
  const int from = cluster.OwnerOf(slot);
  const int to = (from + 1) % 3;
  const std::string number = absl::StrCat(slot);
  cluster.node(to).Ask({"CLUSTER", "SETSLOT", number, "IMPORTING", cluster.IdOf(from)});
  cluster.node(from).Ask({"CLUSTER", "SETSLOT", number, "MIGRATING", cluster.IdOf(to)});
  ASSERT_THAT(asking->values().Put("s", "k", "v", absl::Now(), absl::Hours(1)), IsOk());
  EXPECT_EQ(asking->values().Get("s", "k", absl::Now()).value().value_or(""), "v");
  EXPECT_THAT(cluster.node(from).Info("errorstat_ASK"), HasSubstr("count="));
  EXPECT_EQ(cluster.node(to).Ask({"CLUSTER", "COUNTKEYSINSLOT", number}).integer, 1);
  cluster.node(to).Ask({"CLUSTER", "SETSLOT", number, "NODE", cluster.IdOf(to)});
  cluster.node(from).Ask({"CLUSTER", "SETSLOT", number, "NODE", cluster.IdOf(to)});
  EXPECT_EQ(asking->values().Get("s", "k", absl::Now()).value().value_or(""), "v");
  EXPECT_THAT(cluster.node(from).Info("errorstat_MOVED"), HasSubstr("count="));
}

TEST(RedisClusterFaultsTest, AMasterThatIsKilledAndComesBackLosesNothingWithFsyncAlways) {
  RedisCluster& cluster = SharedCluster();
  for (int node = 0; node < 3; ++node) {
    cluster.node(node).Ask({"CONFIG", "SET", "appendfsync", "always"});
  }
  const auto store = Open(WithPrefix(cluster.url()) + "&timeout=30s");
  Writers writers(store->events(), 4);
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= 100; }));
  cluster.node(1).Kill(SIGKILL);
  cluster.node(1).Start();
  const std::int64_t before = writers.acknowledged();
  ASSERT_TRUE(Eventually([&] { return writers.acknowledged() >= before + 400; }));
  writers.Stop();
  EXPECT_EQ(writers.Check(), 0);
}

// A slot of another node is all that a single server needs to point elsewhere.
TEST(RedisClusterFaultsTest, ANodeNamedAsASingleServerIsRefusedWithTheReason) {
  RedisCluster& cluster = SharedCluster();
  const int owner = cluster.OwnerOf(redis::SlotOf("galen:format"));
  EXPECT_THAT(OpenStore(cluster.node((owner + 1) % 3).url()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("redis+cluster://")));
}

}  // namespace redis_topology_faults_test
}  // namespace galen::store
