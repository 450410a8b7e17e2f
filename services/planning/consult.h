#ifndef SERVICES_PLANNING_CONSULT_H_
#define SERVICES_PLANNING_CONSULT_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/likeness.h"
#include "common/reasoner/reasoner.h"
#include "galen/planning/v1/planning.pb.h"
#include "services/planning/playbook_texts.h"

namespace galen::planning {

// Answers a language model's questions about check results, past incidents, playbooks and the
// taxonomy.
// Everything comes from the request and from the knowledge; nothing is run. Thread-safe.
class ConsultationTools {
 public:
  // Both must outlive it. `playbooks`: null if there are none.
  ConsultationTools(const knowledge::Knowledge& knowledge, const reasoner::Reasoner& reasoner,
                    std::shared_ptr<const PlaybookTexts> playbooks)
      : knowledge_(knowledge), reasoner_(reasoner), playbooks_(std::move(playbooks)) {}

  // INVALID_ARGUMENT: too many calls, or a call of another kind.
  absl::StatusOr<v1::ConsultResponse> Answer(const v1::ConsultRequest& request,
                                             absl::Time deadline) const;

 private:
  galen::v1::ToolResult ShowCheck(const galen::v1::EvidenceSet& evidence,
                                  const galen::v1::ToolCall::ShowCheck& call) const;
  galen::v1::ToolResult Compare(const galen::v1::EvidenceSet& evidence,
                                const galen::v1::ToolCall::CompareNodes& call) const;
  galen::v1::ToolResult SearchHistory(const std::string& query, v1::ConsultResponse& response,
                                      galen::v1::Spending& spending, absl::Time deadline) const;
  galen::v1::ToolResult SearchPlaybooks(const std::string& query) const;
  galen::v1::ToolResult SearchTaxonomy(const std::string& query) const;
  galen::v1::ToolResult ReadTaxonomy(const std::string& name) const;
  std::string UnknownCheck(const galen::v1::EvidenceSet& evidence, const std::string& check) const;

  const knowledge::Knowledge& knowledge_;
  const reasoner::Reasoner& reasoner_;
  const std::shared_ptr<const PlaybookTexts> playbooks_;
  // Made at the first search of the taxonomy: most planners never search it.
  mutable std::once_flag made_;
  mutable std::unique_ptr<const reasoner::LikenessIndex> leaves_;
};

}  // namespace galen::planning

#endif  // SERVICES_PLANNING_CONSULT_H_
