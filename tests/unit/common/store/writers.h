#ifndef TESTS_UNIT_COMMON_STORE_WRITERS_H_
#define TESTS_UNIT_COMMON_STORE_WRITERS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/store/event_log.h"

namespace galen::store {

inline v1::DiagnosisEvent NumberedEvent(std::int64_t number) {
  v1::DiagnosisEvent event;
  event.mutable_check_completed()->mutable_result()->set_id(absl::StrCat(number));
  return event;
}

inline v1::DiagnosisEvent CreationOf(const std::string& name, const std::string& request_id = "") {
  v1::DiagnosisEvent event;
  event.mutable_created()->set_name(name);
  event.mutable_created()->set_request_id(request_id);
  return event;
}

// Orchestrators under load: each thread appends to its own diagnosis, one event after the other,
// until it is stopped or an append fails, and records each acknowledgement and its time.
class Writers {
 public:
  Writers(EventLog& log, int count) : log_(log), writers_(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      Writer& writer = writers_[i];
      writer.name = absl::StrCat("tenants/acme/diagnoses/w", i);
      EXPECT_TRUE(log_.Create(CreationOf(writer.name)).ok());
      writer.at.push_back(absl::Now());
      writer.lease = log_.AcquireLease(writer.name, "w", absl::Now(), absl::Hours(1)).value();
      writer.thread = std::thread([this, &writer] { Write(writer); });
    }
  }
  ~Writers() { Stop(); }

  // Events acknowledged so far, over all.
  std::int64_t acknowledged() const { return acknowledged_; }

  void Stop() {
    stopping_ = true;
    for (Writer& writer : writers_) {
      if (writer.thread.joinable()) writer.thread.join();
    }
  }

  // The time when the newest acknowledged event was handed over: the store answered after that.
  absl::Time LastAsked() const {
    absl::Time last = absl::InfinitePast();
    for (const Writer& writer : writers_) last = std::max(last, writer.asked);
    return last;
  }

  // After Stop(): every log holds each acknowledged event once and in order, but for those
  // acknowledged at `may_miss_from` or later; behind them at most the one that got no answer. Gives
  // the number of acknowledged events that are missing.
  std::int64_t Check(absl::Time may_miss_from = absl::InfiniteFuture()) {
    std::int64_t missing = 0;
    for (const Writer& writer : writers_) {
      const auto read = log_.Read(writer.name, 0, 1'000'000);
      // A log whose creation was lost is one that lost all.
      EXPECT_TRUE(read.ok() || absl::IsNotFound(read.status())) << read.status();
      if (!read.ok() && !absl::IsNotFound(read.status())) continue;
      const std::vector<v1::DiagnosisEvent> events =
          read.ok() ? *read : std::vector<v1::DiagnosisEvent>();
      const std::size_t acked = writer.at.size();
      const std::size_t unanswered = writer.status.ok() ? 0 : 1;
      EXPECT_LE(events.size(), acked + unanswered) << writer.name;
      for (std::size_t i = 1; i < events.size(); ++i) {
        EXPECT_EQ(events[i].check_completed().result().id(), absl::StrCat(i + 1));
      }
      for (std::size_t i = events.size(); i < acked; ++i) {
        ++missing;
        EXPECT_GE(writer.at[i], may_miss_from) << writer.name << " lost event " << i + 1;
      }
    }
    return missing;
  }
  // The status of the writer's last append; OK if it was stopped.
  const absl::Status& status(int writer) const {
    return writers_[static_cast<std::size_t>(writer)].status;
  }

 private:
  struct Writer {
    std::string name;
    Lease lease;
    std::vector<absl::Time> at;               // when event 1, 2, 3, ... was acknowledged
    absl::Time asked = absl::InfinitePast();  // when the last of them was handed over
    absl::Status status;
    std::thread thread;
  };

  void Write(Writer& writer) {
    for (std::int64_t last = 1; !stopping_; ++last) {
      const absl::Time asked = absl::Now();
      const auto appended = log_.Append(writer.lease, last, {NumberedEvent(last + 1)});
      writer.status = appended.status();
      if (!appended.ok()) return;
      writer.at.push_back(absl::Now());
      writer.asked = asked;
      ++acknowledged_;
    }
  }

  EventLog& log_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> acknowledged_{0};
  std::vector<Writer> writers_;
};

}  // namespace galen::store

#endif  // TESTS_UNIT_COMMON_STORE_WRITERS_H_
