#ifndef TESTS_INTEGRATION_IN_PROCESS_UNSTEADY_EVENT_LOG_H_
#define TESTS_INTEGRATION_IN_PROCESS_UNSTEADY_EVENT_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/store/event_log.h"
#include "tests/integration/in_process/dice.h"

namespace galen::in_process {

// Passes on to another store, and fails now and then: before anything was done, or after all was
// done, so that the answer is lost. Thread-safe.
class UnsteadyEventLog final : public store::EventLog {
 public:
  // Both must outlive it. `percent`: of the calls that fail in each of the two ways.
  UnsteadyEventLog(store::EventLog& real, Dice& dice, double percent)
      : real_(real), dice_(dice), percent_(percent) {}

  absl::StatusOr<std::string> Create(const v1::DiagnosisEvent& event) override {
    return Try([&] { return real_.Create(event); });
  }
  absl::StatusOr<std::int64_t> Append(const store::Lease& lease, std::int64_t expected_last,
                                      absl::Span<const v1::DiagnosisEvent> events) override {
    return Try([&] { return real_.Append(lease, expected_last, events); });
  }
  std::optional<absl::StatusOr<std::int64_t>> AppendLater(
      const store::Lease& lease, std::int64_t expected_last,
      absl::Span<const v1::DiagnosisEvent> events, OnAppended done) override {
    if (dice_.Falls(percent_)) return absl::UnavailableError("the store was not reached");
    const bool is_lost = dice_.Falls(percent_);
    std::optional<absl::StatusOr<std::int64_t>> at_once = real_.AppendLater(
        lease, expected_last, events,
        [is_lost, done = std::move(done)](absl::StatusOr<std::int64_t> last) mutable {
          if (is_lost) last = absl::UnavailableError("the store's answer was lost");
          std::move(done)(std::move(last));
        });
    if (at_once.has_value() && is_lost) {
      return absl::UnavailableError("the store's answer was lost");
    }
    return at_once;
  }
  absl::StatusOr<std::vector<v1::DiagnosisEvent>> Read(absl::string_view name, std::int64_t after,
                                                       int limit) override {
    return Try([&] { return real_.Read(name, after, limit); });
  }
  absl::StatusOr<Page> List(absl::string_view parent, int page_size,
                            absl::string_view page_token) override {
    return Try([&] { return real_.List(parent, page_size, page_token); });
  }
  absl::StatusOr<std::vector<std::string>> ListOrphans(absl::Time now) override {
    return Try([&] { return real_.ListOrphans(now); });
  }
  absl::Status SetOver(absl::string_view name, std::int64_t last_sequence) override {
    return Try([&] { return real_.SetOver(name, last_sequence); });
  }
  absl::StatusOr<store::Lease> AcquireLease(absl::string_view name, absl::string_view owner,
                                            absl::Time now, absl::Duration ttl) override {
    return Try([&] { return real_.AcquireLease(name, owner, now, ttl); });
  }
  absl::Status ReleaseLease(const store::Lease& lease) override {
    return Try([&] { return real_.ReleaseLease(lease); });
  }
  absl::StatusOr<v1::Spent> SpentOn(absl::string_view parent, absl::string_view day) override {
    return Try([&] { return real_.SpentOn(parent, day); });
  }
  absl::StatusOr<Oldest> ListOldest(absl::string_view parent, std::int64_t position,
                                    int limit) override {
    return Try([&] { return real_.ListOldest(parent, position, limit); });
  }
  absl::Status Delete(const store::Lease& lease, std::int64_t expected_last,
                      absl::Time now) override {
    return Try([&] { return real_.Delete(lease, expected_last, now); });
  }
  absl::Status FinishDeletion(absl::string_view name) override {
    return Try([&] { return real_.FinishDeletion(name); });
  }

 private:
  template <typename Call>
  auto Try(Call call) -> decltype(call()) {
    if (dice_.Falls(percent_)) return absl::UnavailableError("the store was not reached");
    auto result = call();
    if (dice_.Falls(percent_)) return absl::UnavailableError("the store's answer was lost");
    return result;
  }

  store::EventLog& real_;
  Dice& dice_;
  const double percent_;
};

}  // namespace galen::in_process

#endif  // TESTS_INTEGRATION_IN_PROCESS_UNSTEADY_EVENT_LOG_H_
