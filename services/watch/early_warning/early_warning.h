#ifndef SERVICES_WATCH_EARLY_WARNING_EARLY_WARNING_H_
#define SERVICES_WATCH_EARLY_WARNING_EARLY_WARNING_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/observability/metrics/numbers.h"
#include "common/observability/metrics/registry.h"
#include "common/store/store.h"
#include "common/telemetry/rules.h"
#include "common/telemetry/source.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "galen/watch/v1/early.pb.h"
#include "services/watch/early_warning/detection/policy.h"
#include "services/watch/early_warning/detection/rules.h"
#include "services/watch/early_warning/fleet_view.h"
#include "services/watch/early_warning/job_files.h"

namespace galen::watch::early_warning {

// Reads telemetry minute by minute and opens a diagnosis for problems that people do not notice
// yet, once for each cause. Any number of them share a store; one of them, the leader, reads and
// decides. A decision is stored before it is carried out. So if the leader fails, the next one
// opens the unopened diagnoses, under the same request id, and decides nothing twice. People's word
// about an alarm is taken from its diagnosis, where the store has it: one that was cancelled was a
// false alarm, one whose cause was established a true one.
class EarlyWarning {
 public:
  struct Options {
    std::string owner;                        // this instance, among all that share the store
    std::string parent = "tenants/provider";  // tenant of the diagnoses
    absl::Duration leader_ttl = absl::Minutes(2);
    absl::Duration every = absl::Seconds(30);
    // Delay before the samples of a minute are requested: scrapes take time, and the growth of a
    // counter is known one scrape later.
    absl::Duration behind = absl::Seconds(60);
    // Unread minutes are read later, up to this many; older ones stay unknown.
    absl::Duration catch_up = absl::Hours(2);
    absl::Duration most_age = absl::Minutes(2);    // of a sample that is still valid
    absl::Duration keep_every = absl::Minutes(5);  // what detectors know, in the store
    absl::Duration call = absl::Seconds(60);       // of one question
    absl::Duration hear_every = absl::Minutes(10);
    // Expected performance of jobs; null: known only from telemetry.
    std::shared_ptr<JobFiles> jobs;
    // Receives each problem once; the instance keeps trying.
    std::function<void(const absl::Status& problem)> on_problem;
  };
  // Opens a diagnosis and returns its name; a repeated request id returns the same one.
  using Open = std::function<absl::StatusOr<std::string>(const galen::v1::CreateDiagnosisRequest&)>;

  // `store` and `clock` must outlive it.
  EarlyWarning(store::Store& store, std::shared_ptr<telemetry::Source> source,
               telemetry::Rules rules, watch::detection::RuleSet rule_set, const Clock& clock,
               Open open, Options options);
  // Releases the lead.
  ~EarlyWarning();
  EarlyWarning(const EarlyWarning&) = delete;
  EarlyWarning& operator=(const EarlyWarning&) = delete;

  // Runs on its own thread from here; Round() must not be called then.
  void Start();
  // Does everything that is due: takes a free lead, reads new minutes, decides, opens. Errors of
  // the store, of telemetry and of opening; the next call continues where this one stopped.
  absl::Status Round();

  bool IsLeader() const { return leads_; }
  // Metrics. Must not be called after destruction.
  std::shared_ptr<const prometheus::Collectable> metrics();

 private:
  absl::Status Lead();
  absl::Status Restore();
  absl::Status RestoreSubjects();
  absl::Status Keep();
  absl::Status KeepSubjects();
  absl::Status Save();
  absl::Status Read(std::int64_t first, std::int64_t last);
  absl::Status OpenPending();
  absl::Status Hear();
  void Loop();
  std::vector<FleetView*> Views();

  store::Store& store_;
  const std::shared_ptr<telemetry::Source> source_;
  const telemetry::Rules rules_;
  const watch::detection::RuleSet rule_set_;
  const Clock& clock_;
  const Open open_;
  const Options options_;

  std::atomic<bool> leads_ = false;
  metrics::Counter opened_;
  metrics::Counter minutes_;
  std::atomic<std::int64_t> withheld_ = 0;
  // The leader's.
  store::WorkItem lead_;
  std::unique_ptr<FleetView> gpus_;
  std::unique_ptr<FleetView> nodes_;
  std::unique_ptr<FleetView> jobs_;
  std::unique_ptr<watch::detection::Policy> policy_;
  std::vector<v1::EarlyState::Pending> pending_;
  bool pending_noted_ = true;
  std::int64_t read_ = 0;                     // minute up to which telemetry was read
  std::int64_t decided_ = 0;                  // and up to which decisions were made: never twice
  absl::Time kept_;                           // when subjects were last kept
  absl::Time heard_;                          // when people's judgements were last read
  std::map<std::string, std::int64_t> seen_;  // by diagnosis: event up to which it was read
  std::string problem_;                       // that ended the last round
  std::set<std::string> incomplete_;          // quantities that were incomplete: reported once
  Cancellation cancellation_;
  std::thread thread_;
};

}  // namespace galen::watch::early_warning

#endif  // SERVICES_WATCH_EARLY_WARNING_EARLY_WARNING_H_
