#ifndef COMMON_STORE_REDIS_SETUP_H_
#define COMMON_STORE_REDIS_SETUP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/store/redis/client.h"

namespace galen::store {

// Looks whether this Redis can hold a store, and marks it as one. FAILED_PRECONDITION when it would
// lose what is stored to make room, or is too old; DATA_LOSS when a newer galen wrote it; else as
// Client::Run. Gives what of its settings keeps less than it could, one sentence each.
absl::StatusOr<std::vector<std::string>> CheckRedis(redis::Client& client);

}  // namespace galen::store

#endif  // COMMON_STORE_REDIS_SETUP_H_
