#include "services/planning/local_client.h"

#include <utility>

namespace galen::planning {

void LocalPlanningClient::ProposeFromHistory(clients::Shared<v1::ProposeFromHistoryRequest> request,
                                             absl::Time deadline,
                                             clients::Done<v1::ProposeFromHistoryResponse> done) {
  clients::CallLocally<v1::ProposeFromHistoryResponse>(
      executor_, "/galen.planning.v1.PlanningService/ProposeFromHistory",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(planner_, [&](const Planner& current) {
          return current.ProposeFromHistory(*request, deadline);
        });
      },
      std::move(done));
}

void LocalPlanningClient::RankChildren(clients::Shared<v1::RankChildrenRequest> request,
                                       absl::Time deadline,
                                       clients::Done<v1::RankChildrenResponse> done) {
  clients::CallLocally<v1::RankChildrenResponse>(
      executor_, "/galen.planning.v1.PlanningService/RankChildren",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(planner_, [&](const Planner& current) {
          return current.RankChildren(*request, deadline);
        });
      },
      std::move(done));
}

void LocalPlanningClient::Screen(clients::Shared<v1::ScreenRequest> request, absl::Time deadline,
                                 clients::Done<v1::ScreenResponse> done) {
  clients::CallLocally<v1::ScreenResponse>(
      executor_, "/galen.planning.v1.PlanningService/Screen",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(
            planner_, [&](const Planner& current) { return current.Screen(*request, deadline); });
      },
      std::move(done));
}

void LocalPlanningClient::ProposeAtOnce(clients::Shared<v1::ProposeAtOnceRequest> request,
                                        absl::Time deadline,
                                        clients::Done<v1::ProposeAtOnceResponse> done) {
  clients::CallLocally<v1::ProposeAtOnceResponse>(
      executor_, "/galen.planning.v1.PlanningService/ProposeAtOnce",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(planner_, [&](const Planner& current) {
          return current.ProposeAtOnce(*request, deadline);
        });
      },
      std::move(done));
}

void LocalPlanningClient::ListCauses(const v1::ListCausesRequest&, absl::Time,
                                     clients::Done<v1::ListCausesResponse> done) {
  clients::CallLocally<v1::ListCausesResponse>(
      executor_, "/galen.planning.v1.PlanningService/ListCauses",
      [this] { return absl::StatusOr<v1::ListCausesResponse>(planner_.Get()->ListCauses()); },
      std::move(done));
}

void LocalPlanningClient::Explore(clients::Shared<v1::ExploreRequest> request, absl::Time deadline,
                                  clients::Done<v1::ExploreResponse> done) {
  clients::CallLocally<v1::ExploreResponse>(
      executor_, "/galen.planning.v1.PlanningService/Explore",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(
            planner_, [&](const Planner& current) { return current.Explore(*request, deadline); });
      },
      std::move(done));
}

void LocalPlanningClient::Consult(clients::Shared<v1::ConsultRequest> request, absl::Time deadline,
                                  clients::Done<v1::ConsultResponse> done) {
  clients::CallLocally<v1::ConsultResponse>(
      executor_, "/galen.planning.v1.PlanningService/Consult",
      [this, request = std::move(request), deadline] {
        return CallWithFallback(
            planner_, [&](const Planner& current) { return current.Consult(*request, deadline); });
      },
      std::move(done));
}

}  // namespace galen::planning
