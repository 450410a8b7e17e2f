#ifndef TESTS_UNIT_SERVICES_GATEWAY_TICKETS_TICKET_WORLD_H_
#define TESTS_UNIT_SERVICES_GATEWAY_TICKETS_TICKET_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/store/store.h"
#include "services/gateway/tickets/delivery_worker.h"
#include "services/gateway/tickets/scanner.h"
#include "services/gateway/tickets/site.h"
#include "services/gateway/tickets/system.h"
#include "tests/testing/fake_clock.h"

// A ticket system, a store and gateways that crash, on one clock that the test moves.
namespace galen::gateway::tickets {

// The files of knowledge/tickets, as they are shipped.
const std::map<std::string, TicketSystem>& ShippedSystems();
// A target of one of them, for every tenant and in every state.
Target TargetOf(const std::string& system);
constexpr const char* kSystems[] = {"pagerduty", "servicenow", "jira",
                                    "github",    "slack",      "generic"};

// A diagnosis with a cause, evidence and ruled-out causes.
galen::v1::Diagnosis ADiagnosis(const std::string& name);

// Ticket systems with their real behaviour: each has its own way to know which tickets exist
// already (or none), and lists and searches that show new ones late.
class FakeTicketSystem final : public Sender {
 public:
  FakeTicketSystem(std::string system, const Clock& clock)
      : system_(std::move(system)), clock_(clock) {}

  absl::StatusOr<HttpAnswer> Send(const HttpCall& call, absl::Duration timeout) override;

  struct Ticket {
    std::string id;
    std::string mark;
    std::string text;
    absl::Time opened;
    int updates = 0;
    int comments = 0;
  };
  std::vector<Ticket> tickets;
  int requests = 0;
  std::vector<absl::Time> times;  // of the requests
  // The fate of a request: it succeeds; an answer replaces it; or it succeeds and the answer says
  // otherwise, or is missing.
  struct Fate {
    bool happens = true;
    std::optional<absl::StatusOr<HttpAnswer>> answer;
  };
  std::function<Fate(int request)> fate;

 private:
  HttpAnswer Do(const HttpCall& call);
  HttpAnswer Open(const std::string& mark, const std::string& text, int status,
                  const std::function<Json(const Ticket&)>& answer);

  const std::string system_;
  const Clock& clock_;
  std::map<std::string, HttpAnswer> seen_;  // by idempotency key, where the system has one
};

// A store that dies with its process: after this many changes it makes no more.
class DyingRecords final : public store::Records {
 public:
  explicit DyingRecords(store::Records& records) : records_(records) {}
  int changes_left = 1'000'000;
  // Whether the last change is made, and only its answer is lost.
  bool last_is_made = false;
  bool dead() const { return changes_left < 0; }

  absl::StatusOr<std::optional<store::Record>> Get(absl::string_view space,
                                                   absl::string_view key) override;
  absl::StatusOr<std::int64_t> Put(absl::string_view space, absl::string_view key,
                                   absl::string_view value, std::int64_t seen) override;
  absl::Status Remove(absl::string_view space, absl::string_view key, std::int64_t seen) override;
  absl::StatusOr<std::vector<store::Record>> List(absl::string_view space, absl::string_view after,
                                                  int limit) override;

 private:
  store::Records& records_;
};

// Diagnoses as the mesh shows them.
class FakeSource final : public DiagnosisSource {
 public:
  absl::StatusOr<galen::v1::Diagnosis> Get(const std::string& name) override {
    const auto it = diagnoses.find(name);
    if (it == diagnoses.end()) return absl::NotFoundError(name);
    return it->second;
  }
  std::map<std::string, galen::v1::Diagnosis> diagnoses;
};

// A gateway's worker, which may be destroyed and followed by another one.
struct World {
  explicit World(const std::string& kind) : World(TargetOf(kind)) {}
  explicit World(Target one);

  void Conclude(const std::string& name, std::int64_t sequence = 9);
  // Another process takes over.
  void Restart();
  // Works, and moves the clock to when there is more to do, until `until` or nothing is due.
  void RunUntil(absl::Time until);
  bool AllTold();

  testing::FakeClock clock;
  const std::unique_ptr<store::Store> store = store::OpenStore(":memory:").value();
  Site site;
  FakeTicketSystem system;
  FakeSource source;
  TicketStore ticket_store{store->records()};
  std::unique_ptr<DyingRecords> records;
  std::unique_ptr<DeliveryWorker> worker;
  int incarnation = 0;
};

}  // namespace galen::gateway::tickets

#endif  // TESTS_UNIT_SERVICES_GATEWAY_TICKETS_TICKET_WORLD_H_
