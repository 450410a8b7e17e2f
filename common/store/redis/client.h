#ifndef COMMON_STORE_REDIS_CLIENT_H_
#define COMMON_STORE_REDIS_CLIENT_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/store/redis/command.h"
#include "common/store/redis/config.h"
#include "common/store/redis/reply.h"
#include "common/store/redis/topology.h"

namespace galen::store::redis {

// Carries commands out, wherever their keys are: follows redirections and failovers, and repeats
// what got no answer, until Config::timeout. Thread-safe.
class Client {
 public:
  explicit Client(const Config& config);

  // The answer. A Redis error that a retry would not fix is a status: DATA_LOSS the key holds a
  // value of another type; PERMISSION_DENIED; FAILED_PRECONDITION a setting of Redis; UNAVAILABLE
  // not within the time, and whether it was carried out is unknown.
  absl::StatusOr<Reply> Run(Command command);
  // The same for many, sent together. Answers are in the order of the commands.
  std::vector<absl::StatusOr<Reply>> RunAll(std::vector<Command> commands);

  const Config& config() const { return config_; }

 private:
  const Config config_;
  const std::unique_ptr<Topology> topology_;
};

}  // namespace galen::store::redis

#endif  // COMMON_STORE_REDIS_CLIENT_H_
