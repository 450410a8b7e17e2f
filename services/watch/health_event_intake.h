#ifndef SERVICES_WATCH_HEALTH_EVENT_INTAKE_H_
#define SERVICES_WATCH_HEALTH_EVENT_INTAKE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/hot_swap.h"
#include "common/knowledge/knowledge.h"
#include "common/observability/metrics/numbers.h"
#include "common/observability/metrics/registry.h"
#include "common/store/store.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "galen/watch/v1/watch.pb.h"
#include "services/watch/correlator.h"

namespace galen::watch {

// Receives health events. Any number of instances share a store: each stores its events, and one of
// them, the leader, reads the journal and has diagnoses opened. If the leader fails, another one
// continues at its position. Thread-safe.
class HealthEventIntake {
 public:
  struct Options {
    std::string owner;                        // this instance, among all that share the store
    std::string parent = "tenants/provider";  // tenant of the diagnoses
    absl::Duration leader_ttl = absl::Seconds(10);
    std::size_t most_waiting = 200'000;  // events that wait for the disk
    std::int64_t keep = 100'000;         // records of the journal that stay readable
    Correlator::Options correlator;
    // Receives problems; the instance keeps trying.
    std::function<void(const absl::Status& problem)> on_problem;
  };
  // Opens a diagnosis and returns its name; a repeated request id returns the same one. Called from
  // a thread of this class.
  using Open = std::function<absl::StatusOr<std::string>(const galen::v1::CreateDiagnosisRequest&)>;

  // `store` and `clock` must outlive it.
  HealthEventIntake(store::Store& store, HotSwap<knowledge::Knowledge> knowledge,
                    const Clock& clock, Open open, Options options);
  // All earlier reports are answered first; the lead is released. Nothing may be reported any more.
  ~HealthEventIntake();
  HealthEventIntake(const HealthEventIntake&) = delete;
  HealthEventIntake& operator=(const HealthEventIntake&) = delete;

  // See watch.proto. Returns at once; `done` is called once, with the position of the record, when
  // the events are on the disk.
  void Report(v1::ReportHealthRequest request,
              absl::AnyInvocable<void(absl::StatusOr<std::int64_t>) &&> done);

  bool IsLeader() const { return leads_; }

  // Metrics. Must not be called after destruction.
  std::shared_ptr<const prometheus::Collectable> metrics();

 private:
  struct Waiting {
    v1::ReportHealthRequest request;
    absl::AnyInvocable<void(absl::StatusOr<std::int64_t>) &&> done;
  };

  void WriteLoop();
  void Write(std::vector<Waiting> group);
  void FollowLoop();
  // Only for the leader, or a candidate.
  absl::Status Lead();
  absl::Status Follow();
  absl::Status Keep();
  absl::Status Take(const store::JournalEntry& entry);
  absl::Status OpenDue(absl::Time now);
  absl::Status OpenPending();
  absl::Status SaveProgress();
  void Pause(absl::Duration longest);

  store::Store& store_;
  const HotSwap<knowledge::Knowledge> knowledge_;
  const Clock& clock_;
  const Open open_;
  const Options options_;

  std::mutex mu_;
  std::condition_variable came_;
  std::vector<Waiting> waiting_;
  std::size_t waiting_events_ = 0;
  bool stopping_ = false;

  // Wakes the leader: there is something new in the journal.
  std::mutex news_mu_;
  std::condition_variable news_;
  bool has_news_ = false;
  bool ending_ = false;

  std::atomic<bool> leads_ = false;
  metrics::Counter taken_;
  metrics::Counter opened_;
  // The leader's.
  store::WorkItem lead_;
  std::unique_ptr<Correlator> correlator_;
  // Diagnoses to be opened, and whether all of them are stored.
  std::vector<galen::v1::CreateDiagnosisRequest> pending_;
  bool pending_noted_ = true;
  std::int64_t position_ = 0;  // up to which the journal was read
  std::int64_t saved_ = 0;     // and that is in the store
  absl::Time kept_;            // when the lead was last confirmed
  absl::Time saved_at_;

  std::thread writer_;
  std::thread follower_;
};

}  // namespace galen::watch

#endif  // SERVICES_WATCH_HEALTH_EVENT_INTAKE_H_
