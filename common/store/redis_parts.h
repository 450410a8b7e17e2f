#ifndef COMMON_STORE_REDIS_PARTS_H_
#define COMMON_STORE_REDIS_PARTS_H_

#include <memory>

#include "common/store/journal.h"
#include "common/store/key_value.h"
#include "common/store/node_table.h"
#include "common/store/rate_limits.h"
#include "common/store/records.h"
#include "common/store/redis/client.h"
#include "common/store/work_queue.h"

namespace galen::store {

// The parts of a store beside its event log, in Redis. `client` must outlive each.

// A stream read by one consumer group. Payloads of at most 1 MiB, 100 items a Take().
std::unique_ptr<WorkQueue> MakeRedisWorkQueue(redis::Client& client);
std::unique_ptr<KeyValue> MakeRedisKeyValue(redis::Client& client);
// A Take() whose answer got lost is repeated, so it may count twice; it never counts less.
std::unique_ptr<RateLimits> MakeRedisRateLimits(redis::Client& client);
std::unique_ptr<NodeTable> MakeRedisNodeTable(redis::Client& client);
// An Append() whose answer got lost is repeated.
std::unique_ptr<Journal> MakeRedisJournal(redis::Client& client);
std::unique_ptr<Records> MakeRedisRecords(redis::Client& client);

// The reply of one of our scripts: an array of one or more texts.
absl::StatusOr<std::vector<std::string>> AskScript(redis::Client& client, redis::Command command);

}  // namespace galen::store

#endif  // COMMON_STORE_REDIS_PARTS_H_
