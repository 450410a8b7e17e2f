#include "common/store/redis/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/testing/redis/redis_server.h"
#include "tests/testing/status_matchers.h"

namespace galen::store::redis {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ConfigTest, ReadsTheUrlOfOneServer) {
  const Config config =
      ParseUrl("redis://galen:p%40ss@redis.example:7000/3?prefix=g&timeout=9s").value();
  EXPECT_EQ(config.kind, Config::Kind::kSingle);
  EXPECT_THAT(config.addresses, ElementsAre(Address{"redis.example", 7000}));
  EXPECT_EQ(config.user, "galen");
  EXPECT_EQ(config.password, "p@ss");
  EXPECT_EQ(config.database, 3);
  EXPECT_EQ(config.prefix, "g");
  EXPECT_EQ(config.timeout, absl::Seconds(9));
}

TEST(ConfigTest, ReadsTheUrlOfSentinels) {
  const Config config = ParseUrl("redis+sentinel://a,b:7001,[::1]:7002/main/2?replicas=1").value();
  EXPECT_EQ(config.kind, Config::Kind::kSentinel);
  EXPECT_THAT(config.addresses,
              ElementsAre(Address{"a", 26379}, Address{"b", 7001}, Address{"::1", 7002}));
  EXPECT_EQ(config.master, "main");
  EXPECT_EQ(config.database, 2);
  EXPECT_EQ(config.replicas, 1);
}

TEST(ConfigTest, ReadsTheUrlOfACluster) {
  const Config config = ParseUrl("redis+cluster://:secret@a:7000,b:7001").value();
  EXPECT_EQ(config.kind, Config::Kind::kCluster);
  EXPECT_EQ(config.addresses.size(), 2u);
  EXPECT_EQ(config.user, "");
  EXPECT_EQ(config.password, "secret");
}

TEST(ConfigTest, ReadsPasswordsFromFiles) {
  const testing::ScratchDirectory scratch;
  const std::string file = scratch.path() + "/password";
  std::ofstream(file) << "from file\n";
  EXPECT_EQ(ParseUrl("redis://galen@a?password_file=" + file)->password, "from file");
  EXPECT_THAT(ParseUrl("redis://galen@a?password_file=" + scratch.path() + "/none"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("none: holds no password")));
}

TEST(ConfigTest, NeverShowsSecrets) {
  const Config config = ParseUrl("redis+sentinel://galen:hidden@a,b/main").value();
  EXPECT_EQ(Describe(config), "redis+sentinel://a:26379,b:26379/main");
  for (const char* url : {"redis://u:hidden@:1", "redis://u:hidden@a:x", "redis://u:hidden@a?x=1",
                          "redis://u:hidden%zz@a", "rediss://u:hidden@a", "redis://u:hidden@a/x"}) {
    EXPECT_THAT(ParseUrl(url),
                StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("hidden"))))
        << url;
  }
}

TEST(ConfigTest, RefusesWhatItDoesNotUnderstand) {
  const std::pair<const char*, const char*> cases[] = {
      {"redis://", "no host"},
      {"redis://a:0", "not a port"},
      {"redis://a:70000", "not a port"},
      {"redis://a,b", "one server"},
      {"redis://a/x", "database"},
      {"redis+sentinel://a", "master's name"},
      {"redis+cluster://a/1", "no database"},
      {"redis://[::1", "\"]\""},
      {"redis://a?timeout=1ms", "timeout"},
      {"redis://a?replicas=-1", "replicas"},
      {"redis://a?prefix=%7Bx%7D", "prefix"},
      {"redis://a?color=red", "color"},
      {"redis://galen@a", "password"},
      {"rediss://a", "TLS"},
      {"http://a", "not a Redis URL"},
  };
  for (const auto& [url, word] : cases) {
    EXPECT_THAT(ParseUrl(url), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr(word), HasSubstr("docs/store.md"))))
        << url;
  }
}

TEST(ConfigTest, TellsUrlsFromFiles) {
  EXPECT_TRUE(IsRedisUrl("redis://a"));
  EXPECT_TRUE(IsRedisUrl("rediss://a"));
  EXPECT_TRUE(IsRedisUrl("redis+cluster://a"));
  EXPECT_FALSE(IsRedisUrl("/var/lib/galen/redis.db"));
  EXPECT_FALSE(IsRedisUrl(":memory:"));
}

}  // namespace
}  // namespace galen::store::redis
