#ifndef COMMON_REASONER_LLM_REASONED_H_
#define COMMON_REASONER_LLM_REASONED_H_

#include <memory>
#include <optional>
#include <utility>

#include "common/incident_history/store.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/builtin_reasoner.h"
#include "common/reasoner/counted_reasoner.h"
#include "common/reasoner/llm/llm_reasoner.h"

namespace galen::reasoner::llm {

// The built-in reasoner of that knowledge and, with a model, the reasoner that uses it. Everything
// that the model points to must outlive it, and so must `knowledge` and `confirmed`, a site's own
// history; null: none.
class Reasoners {
 public:
  Reasoners(const knowledge::Knowledge& knowledge, const std::optional<Model>& model,
            const incident_history::Store* confirmed = nullptr)
      : rules_(knowledge, confirmed) {
    if (model.has_value()) with_model_.emplace(knowledge, rules_, *model, confirmed);
    best_.emplace(with_model_.has_value() ? static_cast<const Reasoner&>(*with_model_) : rules_,
                  ProcessReasonerNumbers());
  }
  Reasoners(const Reasoners&) = delete;
  Reasoners& operator=(const Reasoners&) = delete;
  // The reasoner that answers; its answers are counted.
  const Reasoner& best() const { return *best_; }

 private:
  const BuiltinReasoner rules_;
  std::optional<LlmReasoner> with_model_;
  std::optional<CountedReasoner> best_;
};

// A Service(knowledge, reasoner, more...) together with the knowledge and the reasoners that it
// refers to; they live as long as the service is used. Everything that the model points to must
// outlive them, and so must `confirmed`.
template <typename Service, typename... More>
std::shared_ptr<const Service> MakeReasoned(std::shared_ptr<const knowledge::Knowledge> knowledge,
                                            const std::optional<Model>& model,
                                            const incident_history::Store* confirmed = nullptr,
                                            const More&... more) {
  struct Whole {
    Whole(std::shared_ptr<const knowledge::Knowledge> loaded, const std::optional<Model>& asked,
          const incident_history::Store* past, const More&... other)
        : book(std::move(loaded)),
          reasoners(*book, asked, past),
          service(*book, reasoners.best(), other...) {}
    const std::shared_ptr<const knowledge::Knowledge> book;
    const Reasoners reasoners;
    const Service service;
  };
  auto whole = std::make_shared<const Whole>(std::move(knowledge), model, confirmed, more...);
  return {whole, &whole->service};
}

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_REASONED_H_
