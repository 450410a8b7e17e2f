#ifndef SERVICES_NODE_DEVICE_QUEUE_H_
#define SERVICES_NODE_DEVICE_QUEUE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"

namespace galen::node {

// Grants the use of devices: for each kind ("gpu", "nic") to one check at a time, in the order of
// the requests, across all calls. Thread-safe.
class DeviceQueue {
  struct Queues;

 public:
  // A place in the queue of one kind. Its end lets the next one in, so a check that is stuck keeps
  // the device for as long as it really uses it. May outlive the DeviceQueue.
  class Turn {
   public:
    Turn(std::shared_ptr<Queues> queues, std::string kind, std::int64_t ticket);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // True when this turn has the device.
    bool HasCome() const;
    // The holder of the device, as named to Queue().
    std::string Holder() const;
    const std::string& kind() const { return kind_; }

   private:
    const std::shared_ptr<Queues> queues_;
    const std::string kind_;
    const std::int64_t ticket_;
  };

  // Puts `who` at the end of the queue for devices of `kind`.
  std::shared_ptr<Turn> Queue(const std::string& kind, const std::string& who);

 private:
  struct Place {
    std::int64_t ticket;
    std::string who;
  };
  struct Queues {
    Mutex mu;
    std::int64_t last ABSL_GUARDED_BY(mu) = 0;
    std::map<std::string, std::deque<Place>> places ABSL_GUARDED_BY(mu);
  };

  const std::shared_ptr<Queues> queues_ = std::make_shared<Queues>();
};

}  // namespace galen::node

#endif  // SERVICES_NODE_DEVICE_QUEUE_H_
