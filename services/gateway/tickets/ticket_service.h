#ifndef SERVICES_GATEWAY_TICKETS_TICKET_SERVICE_H_
#define SERVICES_GATEWAY_TICKETS_TICKET_SERVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/periodic_task.h"
#include "common/store/store.h"
#include "services/gateway/api/upstream.h"
#include "services/gateway/tickets/curl_sender.h"
#include "services/gateway/tickets/delivery_worker.h"
#include "services/gateway/tickets/inbound_updates.h"
#include "services/gateway/tickets/scanner.h"
#include "services/gateway/tickets/site.h"

namespace galen::gateway::tickets {

// Reads diagnoses and submits feedback through the mesh. Thread-safe; blocks.
class UpstreamSource final : public DiagnosisSource {
 public:
  explicit UpstreamSource(Upstream& upstream) : upstream_(upstream) {}
  absl::StatusOr<galen::v1::Diagnosis> Get(const std::string& name) override;
  absl::Status Submit(const galen::v1::SubmitFeedbackRequest& request);

 private:
  absl::StatusOr<galen::v1::Diagnosis> Ask(absl::string_view method, const std::string& name,
                                           std::shared_ptr<google::protobuf::Message> request);
  Upstream& upstream_;
};

// The tickets of a gateway: a thread that scans the logs, and for each target as many delivery
// workers as its concurrency allows, so that a slow target delays no other. Its end waits for
// deliveries in flight, for some seconds at most.
class TicketService {
 public:
  // `redact` removes what a customer of a tenant must not see. `tell` gets a sentence about a
  // failure, and about its end. All must outlive it.
  TicketService(Site site, store::Store& store, Upstream& upstream, const Clock& clock,
                const std::function<void(const std::string& tenant, galen::v1::Diagnosis&)>& redact,
                std::function<void(const std::string&)> tell);
  ~TicketService();
  TicketService(const TicketService&) = delete;
  TicketService& operator=(const TicketService&) = delete;

  // For webhooks of ticket systems: true if the update is about a ticket of `tenant` that we filed.
  // It is then stored, and given to the diagnosis later. `about` false: it is neither a comment nor
  // a closing, and the ticket is only looked up.
  absl::StatusOr<bool> ReceiveUpdate(const std::string& tenant, const TicketUpdate& update,
                                     bool about);
  const Site& site() const { return site_; }
  // By target.
  std::map<std::string, DeliveryWorker::Counts> counts() const;

 private:
  // Gives stored updates to their diagnoses.
  absl::Status DeliverUpdates();
  // Calls `work` until the end; `work` returns the time to wait.
  void Add(std::string what, std::function<absl::StatusOr<absl::Duration>()> work);

  const Site site_;
  store::Records& records_;
  const Clock& clock_;
  const std::function<void(const std::string&)> tell_;
  UpstreamSource source_;
  CurlSender sender_;
  InboundUpdates updates_;
  std::vector<std::unique_ptr<DeliveryWorker>> workers_;
  Scanner scanner_;
  std::vector<std::unique_ptr<PeriodicTask>> tasks_;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_TICKET_SERVICE_H_
