#ifndef SERVICES_ORCHESTRATOR_FAIR_SHARE_SCHEDULER_H_
#define SERVICES_ORCHESTRATOR_FAIR_SHARE_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/orchestrator/priority_budget.h"

namespace galen::orchestrator {

// Whose call to an agent is next. Agents answer questions as they come, so what one tenant has
// under way there the others wait for: at most `most` calls are under way, and of one tenant at
// most its equal share among the tenants that have diagnoses running, be they calling just now or
// not; one at least. Of those that wait, the tenant with the fewest under way is next, among equals
// each in its turn, and of one tenant who came first.
//
// A tenant that comes with its only diagnosis goes before those that have many running: they begin
// no call while it is there, for as long as PriorityBudget says. Shares alone would leave it the
// half of machines that were all its own before. Pure, not thread-safe; `now` of a scale that goes
// on evenly.
class FairShareScheduler {
 public:
  using Waiter = std::int64_t;
  explicit FairShareScheduler(std::size_t most) : most_(most) {}

  // A diagnosis of the tenant begins to run here, and ends. When others are held from now on:
  // for how long at most; Next() is to be asked again then. Zero when they are not.
  absl::Duration Register(const std::string& tenant, absl::Time now);
  void Unregister(const std::string& tenant, absl::Time now);

  // Takes a permit for a call; false when there is none for this tenant now.
  bool TryAcquire(const std::string& tenant, absl::Time now);
  void Release(const std::string& tenant);

  // `waiter` wants a permit for a call.
  void Wait(const std::string& tenant, Waiter waiter);
  // The waiter that has a permit from now on, and waits no more. To be asked until there is none
  // after each Unregister() and Release().
  std::optional<Waiter> Next(absl::Time now);

  std::size_t under_way() const { return under_way_; }

 private:
  struct Tenant {
    std::size_t diagnoses = 0;
    std::size_t under_way = 0;
    std::deque<Waiter> waiting;
  };
  // What one tenant may have under way.
  std::size_t Share() const;
  // Whether some other tenant has diagnoses here, but far fewer.
  bool HasMany(const Tenant& tenant) const;
  bool IsHeld(const Tenant& tenant, absl::Time now);
  void DropIfIdle(absl::string_view tenant);

  const std::size_t most_;
  std::map<std::string, Tenant, std::less<>> tenants_;
  std::size_t active_ = 0;  // of them, those with diagnoses
  std::size_t under_way_ = 0;
  std::string last_;  // whose turn it was
  PriorityBudget priority_;
};

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_FAIR_SHARE_SCHEDULER_H_
