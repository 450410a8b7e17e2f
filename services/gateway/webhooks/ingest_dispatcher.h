#ifndef SERVICES_GATEWAY_WEBHOOKS_INGEST_DISPATCHER_H_
#define SERVICES_GATEWAY_WEBHOOKS_INGEST_DISPATCHER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "services/gateway/api/access.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/webhooks/webhook_journal.h"

namespace galen::gateway::webhooks {

// Sends what WebhookJournal holds to the orchestrator: at once if possible, later if the
// orchestrator is unreachable or full, and again if it is unknown whether it arrived, which makes
// no second diagnosis. Several gateways of one store share the work: an event that another one has
// just taken is left to it for a while.
class IngestDispatcher {
 public:
  struct Options {
    std::size_t most_at_once = 16;
    absl::Duration first_pause = absl::Seconds(1);  // after a failure; doubles
    absl::Duration longest_pause = absl::Minutes(1);
    absl::Duration leave_to_others = absl::Seconds(10);
    absl::Duration look = absl::Seconds(1);  // for events that others left
    absl::Duration trim = absl::Hours(1);
  };
  // All must outlive it, and the tasks of `rates` must end before it does. Each diagnosis counts as
  // one that its tenant starts: those over its limits wait, stored as they are. `tell` gets a
  // sentence about each problem.
  IngestDispatcher(WebhookJournal& webhook_journal, Upstream& upstream, RateLimiter& rates,
                   Options options, std::function<void(const std::string&)> tell);
  ~IngestDispatcher();
  IngestDispatcher(const IngestDispatcher&) = delete;
  IngestDispatcher& operator=(const IngestDispatcher&) = delete;

  // Cancels the calls in flight: they are made again at the next start. Once.
  void Stop();
  // This gateway took these: they are due at once.
  void Wake(const std::vector<std::string>& names);
  // How many were refused for good.
  std::uint64_t refused() const;

 private:
  struct Attempt {
    absl::Time due;
    absl::Duration pause;
    bool in_flight = false;
    bool counted = false;  // as one that the tenant started: once, however often it is asked for
  };
  struct Completion {
    std::string endpoint;
    std::string parent;
    std::string id;
    absl::Status status;
  };
  void Loop();
  void WriteDown();
  void SendWhatIsDue();
  void Send(const State::Waiting& waiting);
  // Once the tenant may start it.
  void Ask(const State::Waiting& waiting);
  // The request is over, or was never sent.
  void Complete(Completion completion);
  void Ended(const Completion& completion);

  WebhookJournal& webhook_journal_;
  Upstream& upstream_;
  RateLimiter& rates_;
  const Options options_;
  const std::function<void(const std::string&)> tell_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  std::size_t in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Completion> completed_ ABSL_GUARDED_BY(mu_);  // and not written down yet
  std::uint64_t refused_ ABSL_GUARDED_BY(mu_) = 0;
  // The last report that requests wait.
  absl::Time told_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::map<std::string, Attempt> attempts_ ABSL_GUARDED_BY(mu_);         // by the diagnosis's id
  std::map<std::string, clients::Cancel> cancels_ ABSL_GUARDED_BY(mu_);  // of those that fly
  bool away_ = false;                                                    // of the thread alone
  std::thread thread_;
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_INGEST_DISPATCHER_H_
