#ifndef TESTS_UNIT_COMMON_STORE_STORE_CONFORMANCE_H_
#define TESTS_UNIT_COMMON_STORE_STORE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "common/store/store.h"
#include "tests/testing/redis/redis_server.h"

namespace galen::store {

// A kind of store, and what --store names a new, empty one of it.
struct Backend {
  std::string name;
  std::function<std::string()> where;
};
inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

// A file in memory; a Redis with an append-only file; a master with a replica and three sentinels;
// a cluster of three masters. The servers are real, started on first use and shared by the tests of
// this process, each of which has a prefix of its own.
Backend SqliteBackend();
Backend RedisSingleBackend();
Backend RedisSentinelBackend();
Backend RedisClusterBackend();

// Those servers, for tests that harm them and put them right again.
testing::RedisSentinels& SharedSentinels();
testing::RedisCluster& SharedCluster();
// `url` with a unique prefix.
std::string WithPrefix(const std::string& url);

// The start of every test of the suite.
class StoreTest : public ::testing::TestWithParam<Backend> {
 protected:
  const std::unique_ptr<Store> store_ = OpenStore(GetParam().where()).value();
};

#define INSTANTIATE_STORE_TESTS(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(AllStores, suite,                                                 \
                           ::testing::Values(SqliteBackend(), RedisSingleBackend(),          \
                                             RedisSentinelBackend(), RedisClusterBackend()), \
                           [](const auto& test) { return test.param.name; })

}  // namespace galen::store

#endif  // TESTS_UNIT_COMMON_STORE_STORE_CONFORMANCE_H_
