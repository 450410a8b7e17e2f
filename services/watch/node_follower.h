#ifndef SERVICES_WATCH_NODE_FOLLOWER_H_
#define SERVICES_WATCH_NODE_FOLLOWER_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "services/watch/desk.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace galen::watch {

// Hears from execution what the node executors notice, and hands it to the desk. Tries again, with
// growing pauses, when execution is away; what the executors noticed meanwhile is in their own
// checks, but not reported.
class NodeFollower {
 public:
  // `desk` must outlive the follower. `on_problem` hears why nothing is heard, once each time.
  NodeFollower(std::shared_ptr<grpc::Channel> execution, HealthDesk& desk,
               std::function<void(const absl::Status& problem)> on_problem);
  ~NodeFollower();
  NodeFollower(const NodeFollower&) = delete;
  NodeFollower& operator=(const NodeFollower&) = delete;

 private:
  void Loop();
  absl::Status Follow();

  const std::shared_ptr<grpc::Channel> channel_;
  HealthDesk& desk_;
  const std::function<void(const absl::Status&)> on_problem_;
  std::mutex mu_;
  std::condition_variable ended_;
  bool ending_ = false;
  bool heard_ = false;                      // in the call that ended last
  grpc::ClientContext* context_ = nullptr;  // of the call under way
  std::thread thread_;
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_NODE_FOLLOWER_H_
