#ifndef COMMON_STORE_REDIS_KEYS_H_
#define COMMON_STORE_REDIS_KEYS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace galen::store {

// How many hash tags share the diagnoses out over the slots of a cluster. Part of the format: see
// docs/decisions/009-diagnoses-share-hash-tags.md.
constexpr int kRedisBuckets = 256;

// The names of all keys, below one prefix. The part in { } decides the node of a cluster; a script
// touches keys of one tag only.
class RedisKeys {
 public:
  explicit RedisKeys(std::string prefix) : prefix_(std::move(prefix)) {}

  static int BucketOf(absl::string_view diagnosis);

  std::string Head(absl::string_view diagnosis) const;  // hash: lease, last event, state
  std::string Log(absl::string_view diagnosis) const;   // stream: the events
  std::string Open(int bucket) const;                   // sorted set: what is not over, by lease
  // Hashes: the buckets in which a tenant's logs record model use on a day ("2026-02-14"), and the
  // use in one of them.
  std::string Accounts(absl::string_view parent, absl::string_view day) const;
  std::string Account(int bucket, absl::string_view parent, absl::string_view day) const;
  std::string Listing(absl::string_view parent) const;  // sorted set: names by order of creation
  std::string Request(absl::string_view parent, absl::string_view request_id) const;
  std::string Births() const;                               // counter: the order of creation
  std::string QueueItems(absl::string_view queue) const;    // stream
  std::string QueueTickets(absl::string_view queue) const;  // hash: stream id by key
  std::string Value(absl::string_view space, absl::string_view key) const;
  std::string Rate(absl::string_view key) const;
  std::string Journal(absl::string_view journal) const;     // stream
  std::string RecordValues(absl::string_view space) const;  // hash: version and value by key
  std::string RecordOrder(absl::string_view space) const;   // sorted set: the keys
  std::string NodeRecords() const;                          // hash
  std::string NodeExpiry() const;                           // sorted set

 private:
  const std::string prefix_;
};

}  // namespace galen::store

#endif  // COMMON_STORE_REDIS_KEYS_H_
