#ifndef SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_JOURNAL_H_
#define SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/store/journal.h"
#include "services/gateway/webhooks/state.h"

namespace galen::gateway::webhooks {

// Keeps events: a taken event is durable, each event counts once, and each open incident has one
// diagnosis, over all gateways of one store. The truth is a journal, and the order of its records
// decides. Events that come while the store is busy are written together. Thread-safe.
class WebhookJournal {
 public:
  struct Options {
    // How long a delivery is known as a repeat, and how long an incident without events counts as
    // open.
    absl::Duration remember = absl::Hours(24 * 30);
    // Events that wait to be written, and diagnoses that wait for the orchestrator; beyond that no
    // delivery is taken.
    std::size_t most_queued = 1'000;
    std::size_t most_waiting = 10'000;
  };
  // All must outlive it, and `executor` must end before it does.
  WebhookJournal(store::Journal& journal, const Clock& clock, Executor& executor, Options options);

  // Reads the journal, which may take a while. UNAVAILABLE; DATA_LOSS.
  absl::Status Open();
  // Called, on any thread, with the names of diagnoses that events of this journal opened. Before
  // the first Take().
  using Opened = std::function<void(const std::vector<std::string>& names)>;
  void OnOpened(Opened on_opened) { on_opened_ = std::move(on_opened); }

  // Takes events of one endpoint, all or none, and calls `done` once they are durable, with the
  // outcome of each. UNAVAILABLE: the store is unreachable or overloaded (with a time to try
  // again); some events may have been taken all the same, and are then known as repeats.
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::vector<Outcome>>) &&>;
  void Take(std::string endpoint, std::vector<v1::WebhookEvent> events, Done done);

  // Reads the records of other gateways, too. UNAVAILABLE; DATA_LOSS.
  absl::Status Refresh();
  // A copy of the requests to deliver, the oldest first, at most `most`.
  std::vector<State::Waiting> Waiting(std::size_t most) const;
  std::size_t waiting() const;
  // A request that the orchestrator has, or never will have.
  struct Delivered {
    std::string endpoint;
    std::string name;
    std::string refused;  // the reason that it never will; "": it has it
  };
  absl::Status MarkDelivered(const std::vector<Delivered>& delivered);

  std::string CursorOf(const std::string& endpoint) const;
  absl::Status SetCursor(const std::string& endpoint, const std::string& value);

  // Drops records that are no longer needed from the journal.
  absl::Status Trim();

 private:
  struct Job {
    std::string endpoint;
    std::vector<v1::WebhookEvent> events;
    Done done;
    std::vector<std::optional<Outcome>> outcomes;
    std::vector<std::int64_t> positions;  // of those that were written
  };
  void Work();
  absl::Status Write(std::vector<Job>& jobs);
  absl::Status Append(const std::vector<v1::WebhookRecord>& records);
  // Reads on, to the end. Sets `outcomes` to the results of the records at its positions.
  absl::Status ReadOn(std::map<std::int64_t, Outcome>* outcomes);
  v1::WebhookRecord RecordOf(const std::string& endpoint) const;

  store::Journal& journal_;
  const Clock& clock_;
  Executor& executor_;
  const Options options_;
  Opened on_opened_;

  Mutex reading_;  // one reader at a time; before mu_
  mutable Mutex mu_;
  std::deque<Job> queue_ ABSL_GUARDED_BY(mu_);
  bool working_ ABSL_GUARDED_BY(mu_) = false;
  State state_ ABSL_GUARDED_BY(mu_);
  std::int64_t position_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_JOURNAL_H_
