#ifndef SERVICES_PLANNING_PLANNER_H_
#define SERVICES_PLANNING_PLANNER_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/reasoner.h"
#include "galen/planning/v1/planning.pb.h"
#include "services/planning/consult.h"
#include "services/planning/playbook_texts.h"

namespace galen::planning {

// Proposes and orders hypotheses, and names the checks that test them. The reasoner only answers;
// this class decides which answers are allowed: labels of the taxonomy, offered by the question.
// Thread-safe. Errors of all methods: INVALID_ARGUMENT: an unknown label; FAILED_PRECONDITION: an
// answer outside the offered choices; the reasoner's own.
class Planner {
 public:
  // Both must outlive the planner. `playbooks`: for a model to search; null: none.
  Planner(const knowledge::Knowledge& knowledge, const reasoner::Reasoner& reasoner,
          std::shared_ptr<const PlaybookTexts> playbooks = nullptr)
      : knowledge_(knowledge),
        reasoner_(reasoner),
        counsel_(knowledge, reasoner, std::move(playbooks)) {}

  absl::StatusOr<v1::ProposeFromHistoryResponse> ProposeFromHistory(
      const v1::ProposeFromHistoryRequest& request, absl::Time deadline) const;
  // A choice that the reasoner leaves out is appended as pruned.
  absl::StatusOr<v1::RankChildrenResponse> RankChildren(const v1::RankChildrenRequest& request,
                                                        absl::Time deadline) const;
  // Refuses a check that the catalogue does not have or that is intrusive.
  absl::StatusOr<v1::ScreenResponse> Screen(const v1::ScreenRequest& request,
                                            absl::Time deadline) const;
  // Drops an answer that cites neither a signal of the question nor a past incident.
  absl::StatusOr<v1::ProposeAtOnceResponse> ProposeAtOnce(const v1::ProposeAtOnceRequest& request,
                                                          absl::Time deadline) const;
  // Every root cause with its checks.
  v1::ListCausesResponse ListCauses() const;
  absl::StatusOr<v1::ExploreResponse> Explore(const v1::ExploreRequest& request,
                                              absl::Time deadline) const;
  // consult.h.
  absl::StatusOr<v1::ConsultResponse> Consult(const v1::ConsultRequest& request,
                                              absl::Time deadline) const {
    return counsel_.Answer(request, deadline);
  }

 private:
  absl::Status CheckQuestion(const galen::v1::Question& question, bool loads) const;

  const knowledge::Knowledge& knowledge_;
  const reasoner::Reasoner& reasoner_;
  const ConsultationTools counsel_;
};

}  // namespace galen::planning

#endif  // SERVICES_PLANNING_PLANNER_H_
