#ifndef SERVICES_ORCHESTRATOR_ADMISSION_H_
#define SERVICES_ORCHESTRATOR_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::orchestrator {

// Decides which diagnoses run here and which one is next: of the tenants that wait, the one with
// the fewest running, so that a tenant that sends many holds up only its own. Waiting diagnoses are
// in the store without a lease, so that any other orchestrator may start them; a lost queue costs
// one search for orphans. Not thread-safe.
class Admission {
 public:
  struct Limits {
    std::size_t running = 0;         // over all
    std::size_t tenant_running = 0;  // of one tenant
    std::size_t tenant_waiting = 0;  // of one tenant; then it IsFull()
  };
  explicit Admission(Limits limits) : limits_(limits) {}

  // True when the tenant ("tenants/t") has reached its limit of waiting diagnoses: no new one may
  // be made. Diagnoses in the store already wait all the same.
  bool IsFull(absl::string_view tenant) const;
  // Puts a diagnosis in the queue, unless it waits or runs already.
  void Wait(const std::string& name);
  // Takes the next one out of the queue, which counts as running from then on. Nothing when none
  // may start now.
  std::optional<std::string> Next();
  // It runs, whether it waited or not, or runs no more.
  void Started(const std::string& name);
  void Ended(const std::string& name);

  // The diagnoses of a tenant that has any; its name without "tenants/".
  struct Turns {
    std::string tenant;
    std::size_t running = 0;
    std::size_t waiting = 0;
  };
  std::vector<Turns> AllTurns() const;

  bool HasWaiting() const;
  std::size_t running() const { return running_.size(); }

  // Two halves of a look into the store: what has waited since before BeginLook() and is not among
  // `orphans` waits no more; another orchestrator has started it.
  void BeginLook() { ++look_; }
  void EndLook(const std::vector<std::string>& orphans);

 private:
  struct Waiting {
    std::string name;
    std::int64_t since = 0;  // the look before it came
  };
  struct Tenant {
    std::size_t running = 0;
    std::deque<Waiting> waiting;
  };
  static absl::string_view TenantOf(absl::string_view name);
  void DropIfIdle(absl::string_view tenant);

  const Limits limits_;
  std::map<std::string, Tenant, std::less<>> tenants_;  // that have any
  std::set<std::string, std::less<>> running_;
  std::set<std::string, std::less<>> waiting_;
  std::string last_;  // the tenant whose turn it was: among equals, the one after it is next
  std::int64_t look_ = 0;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ADMISSION_H_
