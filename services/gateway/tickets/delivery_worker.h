#ifndef SERVICES_GATEWAY_TICKETS_DELIVERY_WORKER_H_
#define SERVICES_GATEWAY_TICKETS_DELIVERY_WORKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/gateway/tickets/delivery_planner.h"
#include "services/gateway/tickets/exchange.h"
#include "services/gateway/tickets/site.h"
#include "services/gateway/tickets/ticket_store.h"

namespace galen::gateway::tickets {

// Reads diagnoses. Thread-safe; blocks. NOT_FOUND: there is none of that name.
class DiagnosisSource {
 public:
  virtual ~DiagnosisSource() = default;
  virtual absl::StatusOr<galen::v1::Diagnosis> Get(const std::string& name) = 0;
};

// Sends a request. Thread-safe; blocks for `timeout` at most. FAILED_PRECONDITION: it was not sent,
// because no connection was made; any other error: it may have arrived.
class Sender {
 public:
  virtual ~Sender() = default;
  virtual absl::StatusOr<HttpAnswer> Send(const HttpCall& call, absl::Duration timeout) = 0;
};

// Delivers to one target what is due there. Each step is stored before it is taken, and its outcome
// afterwards, so that a successor after a crash knows that a ticket may exist already. Several
// workers may serve the same target, also in other processes: due items are leased. Thread-safe.
class DeliveryWorker {
 public:
  struct Dependencies {
    store::Records* records = nullptr;
    DiagnosisSource* source = nullptr;
    Sender* sender = nullptr;
    const Clock* clock = nullptr;
    std::function<double()> chance;  // in [0, 1); thread-safe
    std::string owner;               // names this process
    // Removes what a customer must not see; empty: removes nothing.
    std::function<void(const std::string& tenant, galen::v1::Diagnosis&)> redact = nullptr;
  };
  // All must outlive it.
  DeliveryWorker(const Target& target, std::string console_url, Dependencies dependencies);

  // Does one due step. Returns the time of the next one, as far as it is known: now if it did
  // something.
  absl::StatusOr<absl::Time> WorkOnce();

  const Target& target() const { return target_; }
  // Requests by step and outcome; dead letters; items that were due at the last check.
  struct Counts {
    std::map<std::pair<std::string, std::string>, std::uint64_t> requests;
    std::uint64_t dead = 0;
    std::int64_t due = 0;
    absl::Duration oldest;
  };
  Counts counts() const;

 private:
  struct Round;
  absl::Status Process(TicketStore::Due taken);
  absl::Status ReadDiagnosis(Round& round);
  // One step, and whether to go on.
  absl::StatusOr<bool> Perform(Step step, Round& round);
  absl::StatusOr<Outcome> Exchange(Step step, Round& round);
  absl::Status Note(Step step, const Outcome& outcome, Round& round);
  absl::Status PutMine(Round& round);
  absl::Status Finish(const Outcome& failure, Round& round);
  void Count(Step step, const Outcome& outcome);

  const Target& target_;
  const std::string console_url_;
  const Dependencies dependencies_;
  TicketStore tickets_;
  mutable Mutex mu_;
  int failures_ ABSL_GUARDED_BY(mu_) = 0;  // of the target, in a row
  absl::Time paused_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  Counts counts_ ABSL_GUARDED_BY(mu_);
  int last_worker_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_DELIVERY_WORKER_H_
