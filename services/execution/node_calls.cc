#include "services/execution/node_calls.h"

#include <iterator>
#include <utility>

namespace galen::execution {

NodeCalls::NodeCalls(Limits limits, std::function<absl::Time()> now, Start start,
                     std::function<void(const Batch&)> late, std::function<bool()> full)
    : limits_(limits),
      now_(std::move(now)),
      outside_(std::make_shared<const Outside>(
          Outside{std::move(start), std::move(late), std::move(full)})) {}

void NodeCalls::Begin(std::deque<Batch> batches) {
  {
    MutexLock lock(mu_);
    waiting_ = std::move(batches);
  }
  Pump();
}

void NodeCalls::Cancel() {
  {
    MutexLock lock(mu_);
    cancelled_ = true;
  }
  Pump();
}

bool NodeCalls::MayStart() const {
  if (waiting_.empty()) return false;
  if (cancelled_) return true;
  if (outside_->full && outside_->full()) return false;
  // One batch may be more than the limit.
  return on_time_ == 0 || (on_time_calls_ < limits_.calls &&
                           on_time_ + waiting_.front().nodes.size() <= limits_.nodes);
}

void NodeCalls::Pump() {
  // A call may end before it has begun, on this thread: then it is this loop that goes on, and
  // not one inside it.
  std::shared_ptr<const Outside> unused;
  {
    MutexLock lock(mu_);
    if (pumping_) return;
    pumping_ = true;
  }
  while (true) {
    std::shared_ptr<const Batch> batch;
    std::int64_t id = 0;
    std::shared_ptr<const Outside> outside;
    {
      MutexLock lock(mu_);
      if (!MayStart()) {
        pumping_ = false;
        if (waiting_.empty() && calls_.empty()) {
          unused.swap(outside_);
        }
        return;
      }
      batch = std::make_shared<const Batch>(std::move(waiting_.front()));
      waiting_.pop_front();
      id = next_id_++;
      ++on_time_calls_;
      on_time_ += batch->nodes.size();
      calls_[id] = {batch, now_()};
      outside = outside_;
    }
    outside->start(*batch, [self = shared_from_this(), id](std::vector<Batch> again) {
      self->End(id, std::move(again));
    });
  }
}

void NodeCalls::End(std::int64_t id, std::vector<Batch> again) {
  {
    MutexLock lock(mu_);
    const auto call = calls_.find(id);
    (call->second.late ? too_late_ : on_time_) -= call->second.batch->nodes.size();
    if (!call->second.late) --on_time_calls_;
    calls_.erase(call);
    waiting_.insert(waiting_.begin(), std::make_move_iterator(again.begin()),
                    std::make_move_iterator(again.end()));
  }
  Pump();
}

void NodeCalls::Look(absl::Time now) {
  std::vector<std::shared_ptr<const Batch>> found;
  std::shared_ptr<const Outside> outside;
  {
    MutexLock lock(mu_);
    outside = outside_;
    for (auto& [id, call] : calls_) {
      if (call.late || call.since + limits_.late_after > now) continue;
      if (too_late_ + call.batch->nodes.size() > limits_.late_nodes) break;
      call.late = true;
      --on_time_calls_;
      on_time_ -= call.batch->nodes.size();
      too_late_ += call.batch->nodes.size();
      found.push_back(call.batch);
    }
  }
  if (found.empty()) return;
  if (outside->late) {
    for (const auto& batch : found) outside->late(*batch);
  }
  Pump();
}

}  // namespace galen::execution
