#ifndef SERVICES_ORCHESTRATOR_OPTIONS_H_
#define SERVICES_ORCHESTRATOR_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/orchestrator/active_tests.h"
#include "services/orchestrator/retry.h"

namespace galen::orchestrator {

struct Options {
  // Owner of the leases: the same after a restart, so that it continues at once, and different from
  // every other orchestrator on the same store.
  std::string owner = "orchestrator";
  // Search strategy of diagnoses that do not name one.
  std::string strategy = "tiered";
  absl::Duration lease_ttl = absl::Seconds(15);
  // Limits of one call to an agent; a batch of checks takes longer than a question, and so does a
  // summary, which reads logs of any size: half of its time is for them, which is
  // enough for 30 GiB from a disk that gives 100 MiB/s.
  absl::Duration call_timeout = absl::Seconds(60);
  // For a question that a language model may answer: long, so that the limit of the model's
  // endpoint applies first.
  absl::Duration model_timeout = absl::Minutes(10);
  absl::Duration summary_timeout = absl::Minutes(10);
  absl::Duration checks_timeout = absl::Minutes(10);
  // Policy for tests that load a device.
  TestPolicy tests = TestPolicy::kApproved;
  // How often a call to an agent is made.
  RetryLimits retry_limits;
  // How often the store is searched for diagnoses whose orchestrator is gone.
  absl::Duration orphan_scan = absl::Seconds(5);
  // How long to wait before a diagnosis is reloaded after the store refused an event.
  absl::Duration store_retry = absl::Seconds(1);
  // Diagnoses that run here at the same time, over all and of one tenant. More wait in the store,
  // where any orchestrator may start them; of the tenants that wait, the one of which the fewest
  // run is next. A tenant that has more than `tenant_waiting` of them is refused with
  // RESOURCE_EXHAUSTED.
  std::size_t max_running = 10'000;
  std::size_t tenant_running = 1'000;
  std::size_t tenant_waiting = 10'000;
  // Calls to agents under way at the same time. Tenants that have diagnoses running here have equal
  // shares of them, so that what a tenant waits for is not another one's flood.
  std::size_t max_calls = 256;
  // False: no thread of its own, the owner calls Tick().
  bool own_timer = true;
  // The clock for waits; must outlive the orchestrator. nullptr: SteadyNow(), or without a thread
  // of its own the clock that it is given.
  const Clock* steady = nullptr;
  // Fault injection: called after each event is durable, with its sequence number, before anything
  // is done about it.
  std::function<void(std::int64_t sequence)> after_append;
  // Called with a diagnosis whose cause a person has just confirmed, once that is stored and before
  // it is acknowledged; again for the same when the request is repeated. An error is passed on to
  // who confirmed.
  std::function<absl::Status(const v1::Diagnosis&)> on_confirmed;
  // Called with a diagnosis that comes to rest with a confirmed cause, before it counts as over: so
  // it is called once more after a crash, and when the diagnosis resumes. With UNAVAILABLE it is
  // called again later. Without its check results and evidence; on any thread, which may block for
  // some milliseconds.
  std::function<absl::Status(const v1::Diagnosis&)> on_cause;
  // Makes evidence of what is pasted into a new incident (intake::PastedEvidenceStore::Take).
  // Missing: its text and logs are searched for messages only. An error refuses the request.
  std::function<absl::StatusOr<v1::Incident>(const v1::Incident& incident, const std::string& id)>
      take_evidence;
  // Puts lines in place of the logs of a new incident whose path is "from:NAME" and that have no
  // content (log_sources::NamedLogs::Fetch), before take_evidence. May block for some seconds. An
  // error refuses the request. Missing: such logs are refused.
  std::function<absl::StatusOr<v1::Incident>(const std::string& parent,
                                             const v1::Incident& incident)>
      fetch_logs;
  // Whether this many more bytes may be kept for a tenant ("tenants/acme"), and counts them; an
  // error refuses the request. Missing: no limit.
  std::function<absl::Status(const std::string& parent, std::size_t bytes)> take_bytes;
  // The same for what is given later, on top of the bundle `base` of the diagnosis
  // (intake::PastedEvidenceStore::AddTo). Missing, or it fails: what is given is read by itself.
  std::function<absl::StatusOr<v1::Incident>(const std::string& base, const v1::Incident& incident,
                                             const std::string& id)>
      add_evidence;
  // Told of what becomes of a diagnosis: that it was accepted, and how it came to rest. Called on
  // any thread, which then works on that diagnosis (common/observability/trace).
  std::function<void(absl::string_view news)> on_lifecycle_event;
  // Told of what goes wrong behind the scenes, once while it stays the same: a store that refuses
  // events, a log that cannot be read. Called on any thread.
  std::function<void(absl::string_view diagnosis, const absl::Status& problem)> on_problem;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_OPTIONS_H_
