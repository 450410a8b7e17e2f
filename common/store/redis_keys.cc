#include "common/store/redis_keys.h"

#include "absl/strings/str_cat.h"
#include "common/store/redis/slot.h"

namespace galen::store {

int RedisKeys::BucketOf(absl::string_view diagnosis) {
  return redis::Crc16(diagnosis) % kRedisBuckets;
}

std::string RedisKeys::Head(absl::string_view diagnosis) const {
  return absl::StrCat(prefix_, ":{b", BucketOf(diagnosis), "}:head:", diagnosis);
}
std::string RedisKeys::Log(absl::string_view diagnosis) const {
  return absl::StrCat(prefix_, ":{b", BucketOf(diagnosis), "}:log:", diagnosis);
}
std::string RedisKeys::Open(int bucket) const {
  return absl::StrCat(prefix_, ":{b", bucket, "}:open");
}
std::string RedisKeys::Accounts(absl::string_view parent, absl::string_view day) const {
  return absl::StrCat(prefix_, ":spent:", parent, ":", day);
}
std::string RedisKeys::Account(int bucket, absl::string_view parent, absl::string_view day) const {
  return absl::StrCat(prefix_, ":{b", bucket, "}:spent:", parent, ":", day);
}
std::string RedisKeys::Listing(absl::string_view parent) const {
  return absl::StrCat(prefix_, ":{list}:", parent);
}
std::string RedisKeys::Request(absl::string_view parent, absl::string_view request_id) const {
  return absl::StrCat(prefix_, ":request:", parent, ":", request_id);
}
std::string RedisKeys::Births() const { return absl::StrCat(prefix_, ":{list}#births"); }
std::string RedisKeys::QueueItems(absl::string_view queue) const {
  return absl::StrCat(prefix_, ":{queue:", queue, "}:items");
}
std::string RedisKeys::QueueTickets(absl::string_view queue) const {
  return absl::StrCat(prefix_, ":{queue:", queue, "}:tickets");
}
std::string RedisKeys::Value(absl::string_view space, absl::string_view key) const {
  return absl::StrCat(prefix_, ":value:", space, ":", key);
}
std::string RedisKeys::Rate(absl::string_view key) const {
  return absl::StrCat(prefix_, ":rate:", key);
}
std::string RedisKeys::Journal(absl::string_view journal) const {
  return absl::StrCat(prefix_, ":{journal:", journal, "}");
}
std::string RedisKeys::RecordValues(absl::string_view space) const {
  return absl::StrCat(prefix_, ":{records:", space, "}:values");
}
std::string RedisKeys::RecordOrder(absl::string_view space) const {
  return absl::StrCat(prefix_, ":{records:", space, "}:order");
}
std::string RedisKeys::NodeRecords() const { return absl::StrCat(prefix_, ":{nodes}:records"); }
std::string RedisKeys::NodeExpiry() const { return absl::StrCat(prefix_, ":{nodes}:expiry"); }

}  // namespace galen::store
