#ifndef COMMON_REASONER_LLM_INVESTIGATOR_H_
#define COMMON_REASONER_LLM_INVESTIGATOR_H_

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/likeness.h"
#include "common/reasoner/llm/asker.h"
#include "common/reasoner/llm/cited.h"
#include "common/reasoner/llm/turn_form.h"
#include "common/reasoner/llm/turn_text.h"
#include "common/reasoner/reasoner.h"

namespace galen::reasoner::llm {

// Has a language model investigate an incident, one turn at a time, and verifies its verdicts: a
// quote must be at the stated place, from the right machine and time, and relevant to the cause; no
// fact may exclude the cause. Thread-safe.
class Investigator {
 public:
  // All must outlive it. `rules`: the built-in reasoner.
  Investigator(const knowledge::Knowledge& knowledge, const Reasoner& rules, const Asker& asker)
      : knowledge_(knowledge), rules_(rules), asker_(asker) {}

  absl::StatusOr<v1::InvestigateAnswer> Take(const v1::InvestigateQuestion& question,
                                             absl::Time deadline) const;

 private:
  struct Look;  // the input of one turn

  // Nothing: a rejection without support, which is left out.
  std::optional<galen::v1::ModelVerdict> VerdictOf(const Opinion& opinion, const Look& look) const;
  std::string Objection(const Opinion& opinion, const Look& look, galen::v1::ModelVerdict& verdict,
                        bool& weak) const;
  void SetPlaces(const Opinion& opinion, const Look& look, galen::v1::ModelVerdict& verdict) const;
  bool Bears(const galen::v1::Citation& citation, const knowledge::v1::Label& label,
             const Look& look) const;
  std::string StandingOf(const std::string& label, const Look& look) const;
  double ProbabilityOf(const galen::v1::ModelVerdict& verdict) const;
  std::string RefusalOf(const galen::v1::ToolCall& call, const Look& look,
                        const Allowed& allowed) const;
  // Checks with a result are left out of a call; a call without others is refused.
  static void LeaveOutWhatRan(const Look& look, galen::v1::ToolCall& call);
  absl::Status CheckLabels(const Turn& turn) const;
  void AddSteps(const Look& look, galen::v1::Reasoned& reasoned) const;
  const LikenessIndex& leaves() const;

  const knowledge::Knowledge& knowledge_;
  const Reasoner& rules_;
  const Asker& asker_;
  mutable std::once_flag made_;
  mutable std::unique_ptr<const LikenessIndex> leaves_;  // by leaves()
};

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_INVESTIGATOR_H_
