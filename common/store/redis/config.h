#ifndef COMMON_STORE_REDIS_CONFIG_H_
#define COMMON_STORE_REDIS_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/redis/reply.h"

namespace galen::store::redis {

struct Address {
  std::string host;
  int port = 0;
  bool operator==(const Address&) const = default;
};
// "host:port", or "[v6]:port".
std::string ToString(const Address& address);

// The address of Redis and the settings of its connections. docs/store.md describes the URL.
struct Config {
  enum class Kind { kSingle, kSentinel, kCluster };
  Kind kind = Kind::kSingle;
  std::vector<Address> addresses;  // one server; or sentinels; or some nodes of the cluster
  std::string master;              // the name sentinels know the master by
  std::string user;                // of the ACL; "" is Redis's "default"
  std::string password;            // "" does not authenticate
  std::string sentinel_user;       // the same, to sentinels
  std::string sentinel_password;
  int database = 0;
  std::string prefix = "galen";               // of every key
  int replicas = 0;                           // that must have a write before it counts as stored
  absl::Duration timeout = absl::Seconds(5);  // of one operation, with everything tried for it
  absl::Duration answer = absl::Seconds(2);   // of one connection to be made, of one reply to come
  ReplyLimits limits;
};

// True when `store` names Redis rather than a file: begins with redis://, redis+sentinel://,
// redis+cluster:// or (to be refused with a reason) rediss://.
bool IsRedisUrl(absl::string_view store);

//   redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?OPTIONS]
//   redis+sentinel://[USER[:PASSWORD]@]HOST[:PORT],...[/MASTER[/DATABASE]][?OPTIONS]
//   redis+cluster://[USER[:PASSWORD]@]HOST[:PORT],...[?OPTIONS]
// OPTIONS: password_file, sentinel_user, sentinel_password_file, prefix, replicas, timeout, answer.
// Reads the password files. INVALID_ARGUMENT says which part is wrong, and never shows a password.
absl::StatusOr<Config> ParseUrl(absl::string_view url);

// For people and for names of owners: the URL without secrets and options.
std::string Describe(const Config& config);

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_CONFIG_H_
