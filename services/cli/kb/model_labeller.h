#ifndef SERVICES_CLI_KB_MODEL_LABELLER_H_
#define SERVICES_CLI_KB_MODEL_LABELLER_H_

#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/curation/ingest.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/builtin_reasoner.h"
#include "common/reasoner/llm/asker.h"

namespace galen::cli {

// The built-in labeller with a language model beside it, which chooses among the leaves that the
// rules offer, puts new causes into words and finds steps in a ticket. The built-in labeller
// answers if the model cannot, or if the tenant's daily budget is spent. Thread-safe.
class ModelLabeller final : public curation::Labeller {
 public:
  // All must outlive it.
  ModelLabeller(const knowledge::Knowledge& knowledge, const curation::Labeller& builtin,
                reasoner::llm::Model model);

  absl::StatusOr<curation::Labelling> Label(const curation::Ticket& ticket) const override;
  curation::CommonCause Describe(
      const std::vector<const curation::Ticket*>& tickets) const override;
  std::vector<std::string> Steps(const curation::Ticket& ticket) const override;

  // The outcome of its questions, for the person who ingests: one line, "" without questions.
  std::string Told() const;

 private:
  // Asks within what is left of the day; true when the answer was taken.
  bool Ask(reasoner::llm::Asker::Question question, reasoner::llm::Asker::Take take) const;
  // The leaves that a ticket may be of, the likeliest first.
  std::vector<const knowledge::v1::Label*> Offer(const curation::Ticket& ticket,
                                                 const std::string& nearest) const;

  const knowledge::Knowledge& knowledge_;
  const curation::Labeller& builtin_;
  const reasoner::BuiltinReasoner rules_;
  const reasoner::llm::Asker asker_;
  mutable Mutex mu_;
  mutable galen::v1::Spending spending_ ABSL_GUARDED_BY(mu_);
  mutable int asked_ ABSL_GUARDED_BY(mu_) = 0;
  mutable int taken_ ABSL_GUARDED_BY(mu_) = 0;
  mutable std::string problem_ ABSL_GUARDED_BY(mu_);  // the first one
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_MODEL_LABELLER_H_
