#ifndef TESTS_UNIT_SERVICES_ORCHESTRATOR_LATER_EVENT_LOG_H_
#define TESTS_UNIT_SERVICES_ORCHESTRATOR_LATER_EVENT_LOG_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/store/event_log.h"

namespace galen::orchestrator {

// Another store that answers appends later, on its own thread, like a store on a disk.
class LaterEventLog final : public store::EventLog {
 public:
  explicit LaterEventLog(store::EventLog& real) : real_(real), thread_([this] { Loop(); }) {}
  ~LaterEventLog() override {
    {
      MutexLock lock(mu_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  // Waits until all is answered; whether there was any since the last time.
  bool Drain() {
    MutexLock lock(mu_);
    while (open_ > 0) mu_.Wait(changed_);
    return std::exchange(any_, false);
  }

  std::optional<absl::StatusOr<std::int64_t>> AppendLater(
      const store::Lease& lease, std::int64_t expected_last,
      absl::Span<const v1::DiagnosisEvent> events, OnAppended done) override {
    auto shared = std::make_shared<OnAppended>(std::move(done));
    {
      MutexLock lock(mu_);
      ++open_;
      any_ = true;
      queue_.push_back([this, lease, expected_last, events, shared] {
        std::move (*shared)(real_.Append(lease, expected_last, events));
      });
    }
    changed_.notify_all();
    return std::nullopt;
  }

  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override {
    return real_.Create(event);
  }
  absl::StatusOr<std::int64_t> Append(const store::Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override {
    return real_.Append(lease, expected_last, events);
  }
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name, std::int64_t after,
                                                       int limit) override {
    return real_.Read(name, after, limit);
  }
  absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                            absl::string_view page_token) override {
    return real_.List(parent, page_size, page_token);
  }
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) override {
    return real_.ListOrphans(now);
  }
  absl::Status SetOver(absl::string_view name, std::int64_t last_sequence) override {
    return real_.SetOver(name, last_sequence);
  }
  absl::StatusOr<store::Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                            absl::Time now, absl::Duration ttl) override {
    return real_.AcquireLease(name, owner, now, ttl);
  }
  absl::Status ReleaseLease(const store::Lease& lease) override {
    return real_.ReleaseLease(lease);
  }
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) override {
    return real_.SpentOn(parent, day);
  }
  absl::StatusOr<Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                    int limit) override {
    return real_.ListOldest(parent, position, limit);
  }
  absl::Status Delete(const store::Lease& lease, std::int64_t expected_last,
                      absl::Time now) override {
    return real_.Delete(lease, expected_last, now);
  }
  absl::Status FinishDeletion(absl::string_view name) override {
    return real_.FinishDeletion(name);
  }

 private:
  void Loop() {
    for (;;) {
      std::function<void()> next;
      {
        MutexLock lock(mu_);
        while (queue_.empty() && !stopping_) mu_.Wait(changed_);
        if (queue_.empty()) return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      next();
      next = nullptr;
      {
        MutexLock lock(mu_);
        --open_;
      }
      changed_.notify_all();
    }
  }

  store::EventLog& real_;
  Mutex mu_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mu_);
  int open_ ABSL_GUARDED_BY(mu_) = 0;
  bool any_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace galen::orchestrator

#endif  // TESTS_UNIT_SERVICES_ORCHESTRATOR_LATER_EVENT_LOG_H_
