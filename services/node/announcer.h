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

// How long to wait before the next announcement. `again`: what the last one was answered;
// `failures`: how many in a row were not; `random`: in [0, 1), so that nodes which were started
// together do not stay together. After a success between three quarters of the time that execution
// said and all of it; else a quarter of a second, doubled with each failure, at most 15 s, and of
// that between half and all. Pure.
absl::Duration NextAnnouncement(const absl::StatusOr<absl::Duration>& again, int failures,
                                double random);

// Tells execution where this node executor is, again and again: one of its replicas, and the next
// one when that does not answer.
class Announcer {
 public:
  struct Options {
    std::string node;
    absl::Duration ttl = absl::Seconds(30);
    absl::Duration call_timeout = absl::Seconds(5);
    // Of what changes: that it is registered, that nobody answers.
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
  std::size_t replica_ = 0;  // that is asked next
  // Of the task, and after it of Stop().
  bool registered_ = false;
  int failures_ = 0;
  std::minstd_rand random_{std::random_device{}()};
  std::optional<PeriodicTask> task_;
};

}  // namespace galen::node

#endif  // SERVICES_NODE_ANNOUNCER_H_
