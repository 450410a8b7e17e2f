#ifndef SERVICES_WATCH_NODE_FOLLOWER_H_
#define SERVICES_WATCH_NODE_FOLLOWER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "common/clients/clients.h"
#include "services/watch/health_event_intake.h"

namespace galen::watch {

// Receives the events of node executors from execution, and passes them to the health intake. It
// retries, with growing pauses, while execution is unreachable. Events of that time are in the
// executors' own checks, but are not reported.
class NodeFollower {
 public:
  // `execution` and `intake` must outlive the follower. `on_problem` gets the reason for lost
  // contact, once each time; from several threads.
  NodeFollower(clients::ExecutionClient& execution, HealthEventIntake& intake,
               std::function<void(const absl::Status& problem)> on_problem);
  ~NodeFollower();
  NodeFollower(const NodeFollower&) = delete;
  NodeFollower& operator=(const NodeFollower&) = delete;

 private:
  // State of the call in flight, which may outlast the follower.
  struct Call {
    std::mutex mu;
    std::condition_variable changed;
    bool heard = false;
    bool ended = false;
    absl::Status status;
  };

  void Loop();
  void Begin(const std::shared_ptr<Call>& call);

  clients::ExecutionClient& execution_;
  HealthEventIntake& intake_;
  const std::function<void(const absl::Status&)> on_problem_;
  std::mutex mu_;
  std::condition_variable ended_;
  bool ending_ = false;
  clients::Cancel cancel_;  // the call in flight
  std::thread thread_;
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_NODE_FOLLOWER_H_
