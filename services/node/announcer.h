#ifndef SERVICES_NODE_ANNOUNCER_H_
#define SERVICES_NODE_ANNOUNCER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/periodic_task.h"
#include "common/clients/clients.h"

namespace galen::node {

// The pause before the next announcement. `again`: the answer to the last one; `failures`: the
// number of failures in a row; `random`: in [0, 1), so that nodes that were started together spread
// out. After a success it is between three quarters of execution's time and all of it; else between
// half and all of a quarter of a second, doubled with each failure, at most 15 s. Pure.
absl::Duration NextAnnouncement(const absl::StatusOr<absl::Duration>& again, int failures,
                                double random);

// Announces this node executor to execution repeatedly: to one of the replicas, and to the next one
// when that does not answer.
class Announcer {
 public:
  struct Options {
    std::string node;
    absl::Duration ttl = absl::Seconds(30);
    absl::Duration call_timeout = absl::Seconds(5);
    // Called when the state changes: the node is registered, or no replica answers.
    std::function<void(const std::string& news)> tell = [](const std::string&) {};
  };

  // One or more replicas, which must outlive the announcer and its calls.
  Announcer(std::vector<clients::RegistrationClient*> replicas, Options options);
  ~Announcer();

  // Goes on by itself, for an executor at `address`.
  void Start(std::string address);
  // Withdraws the node, where it was registered; waits for that a moment.
  void Stop();

 private:
  // Announces it, and gives the pause before the next time.
  absl::Duration Turn();
  absl::StatusOr<absl::Duration> Announce();

  const std::vector<clients::RegistrationClient*> replicas_;
  const Options options_;
  std::string address_;
  std::size_t replica_ = 0;  // the one to call next
  // Used by the task only, and by Stop() after it.
  bool registered_ = false;
  int failures_ = 0;
  std::minstd_rand random_{std::random_device{}()};
  std::optional<PeriodicTask> task_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_ANNOUNCER_H_
