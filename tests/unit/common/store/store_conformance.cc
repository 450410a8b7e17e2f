#include "tests/unit/common/store/store_conformance.h"

#include "absl/strings/str_cat.h"

namespace galen::store {

std::string WithPrefix(const std::string& url) {
  static int count = 0;
  return absl::StrCat(url, "?timeout=20s&prefix=test", ++count);
}

testing::RedisSentinels& SharedSentinels() {
  static testing::RedisSentinels sentinels;
  return sentinels;
}

testing::RedisCluster& SharedCluster() {
  static testing::RedisCluster cluster;
  return cluster;
}

Backend SqliteBackend() {
  return {"Sqlite", [] { return std::string(":memory:"); }};
}

Backend RedisSingleBackend() {
  return {"RedisSingle", [] {
            static testing::RedisServer server({{"--appendonly", "yes"}});
            return WithPrefix(server.url());
          }};
}

Backend RedisSentinelBackend() {
  return {"RedisSentinel",
          [] { return absl::StrCat(WithPrefix(SharedSentinels().url()), "&replicas=1"); }};
}

Backend RedisClusterBackend() {
  return {"RedisCluster", [] { return WithPrefix(SharedCluster().url()); }};
}

}  // namespace galen::store
