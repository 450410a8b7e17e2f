#ifndef SERVICES_PLANNING_LOCAL_CLIENT_H_
#define SERVICES_PLANNING_LOCAL_CLIENT_H_

#include <utility>

#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/clients/clients.h"
#include "services/planning/planner.h"

namespace galen::planning {

// Passes calls directly to a Planner of this process.
class LocalPlanningClient final : public clients::PlanningClient {
 public:
  // Each call uses the version that is current at its start. `executor` must outlive the client and
  // every call in flight.
  LocalPlanningClient(HotSwap<Planner> planner, Executor& executor)
      : planner_(std::move(planner)), executor_(executor) {}
  void ProposeFromHistory(clients::Shared<v1::ProposeFromHistoryRequest> request,
                          absl::Time deadline,
                          clients::Done<v1::ProposeFromHistoryResponse> done) override;
  void RankChildren(clients::Shared<v1::RankChildrenRequest> request, absl::Time deadline,
                    clients::Done<v1::RankChildrenResponse> done) override;
  void Screen(clients::Shared<v1::ScreenRequest> request, absl::Time deadline,
              clients::Done<v1::ScreenResponse> done) override;
  void ProposeAtOnce(clients::Shared<v1::ProposeAtOnceRequest> request, absl::Time deadline,
                     clients::Done<v1::ProposeAtOnceResponse> done) override;
  void ListCauses(const v1::ListCausesRequest& request, absl::Time deadline,
                  clients::Done<v1::ListCausesResponse> done) override;
  void Explore(clients::Shared<v1::ExploreRequest> request, absl::Time deadline,
               clients::Done<v1::ExploreResponse> done) override;
  void Consult(clients::Shared<v1::ConsultRequest> request, absl::Time deadline,
               clients::Done<v1::ConsultResponse> done) override;

 private:
  const HotSwap<Planner> planner_;
  Executor& executor_;
};

}  // namespace galen::planning

#endif  // SERVICES_PLANNING_LOCAL_CLIENT_H_
