#include "services/node/device_queue.h"

#include <algorithm>
#include <utility>

namespace galen::node {

DeviceQueue::Turn::Turn(std::shared_ptr<Queues> queues, std::string kind, std::int64_t ticket)
    : queues_(std::move(queues)), kind_(std::move(kind)), ticket_(ticket) {}

DeviceQueue::Turn::~Turn() {
  const MutexLock lock(queues_->mu);
  const auto queue = queues_->places.find(kind_);
  if (queue == queues_->places.end()) return;
  std::erase_if(queue->second, [this](const Place& place) { return place.ticket == ticket_; });
  if (queue->second.empty()) queues_->places.erase(queue);
}

bool DeviceQueue::Turn::HasCome() const {
  const MutexLock lock(queues_->mu);
  const auto queue = queues_->places.find(kind_);
  return queue != queues_->places.end() && queue->second.front().ticket == ticket_;
}

std::string DeviceQueue::Turn::Holder() const {
  const MutexLock lock(queues_->mu);
  const auto queue = queues_->places.find(kind_);
  return queue == queues_->places.end() ? "" : queue->second.front().who;
}

std::shared_ptr<DeviceQueue::Turn> DeviceQueue::Queue(const std::string& kind,
                                                      const std::string& who) {
  std::int64_t ticket = 0;
  {
    const MutexLock lock(queues_->mu);
    ticket = ++queues_->last;
    queues_->places[kind].push_back({ticket, who});
  }
  return std::make_shared<Turn>(queues_, kind, ticket);
}

}  // namespace galen::node
