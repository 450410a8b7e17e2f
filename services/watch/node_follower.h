#ifndef SERVICES_WATCH_NODE_FOLLOWER_H_
#define SERVICES_WATCH_NODE_FOLLOWER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "common/clients/clients.h"
#include "services/watch/desk.h"

namespace galen::watch {

// Hears from execution what the node executors notice, and hands it to the desk. Tries again, with
// growing pauses, when execution is away; what the executors noticed meanwhile is in their own
// checks, but not reported.
class NodeFollower {
 public:
  // `execution` and `desk` must outlive the follower. `on_problem` hears why nothing is heard, once
  // each time; from several threads.
  NodeFollower(clients::ExecutionClient& execution, HealthDesk& desk,
               std::function<void(const absl::Status& problem)> on_problem);
  ~NodeFollower();
  NodeFollower(const NodeFollower&) = delete;
  NodeFollower& operator=(const NodeFollower&) = delete;

 private:
  // Of the call under way, which may outlast the follower's interest in it.
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
  HealthDesk& desk_;
  const std::function<void(const absl::Status&)> on_problem_;
  std::mutex mu_;
  std::condition_variable ended_;
  bool ending_ = false;
  clients::Cancel cancel_;  // the call under way
  std::thread thread_;
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_NODE_FOLLOWER_H_
