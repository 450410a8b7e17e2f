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

// Decides which tenant's call to an agent is next. Agents answer questions in the order of arrival,
// so the calls of one tenant delay the others: at most `most` calls are under way, and of one
// tenant at most its equal share among the tenants with running diagnoses, whether they are calling
// just now or not; at least one. Among the waiting tenants, the one with the fewest calls under way
// is next, equals take turns, and within a tenant the first to arrive is first.
//
// A tenant with a single diagnosis takes precedence over those that have many running: they begin
// no call while it is there, for as long as PriorityBudget allows. Shares alone would leave it only
// half of the machines that it had to itself before. Pure, not thread-safe; `now` is on a monotonic
// scale.
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
  // The most calls that one tenant may have under way.
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
