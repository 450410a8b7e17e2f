#ifndef COMMON_REASONER_REASONED_H_
#define COMMON_REASONER_REASONED_H_

#include <memory>
#include <utility>

#include "common/knowledge/knowledge.h"
#include "common/reasoner/builtin_reasoner.h"

namespace galen::reasoner {

// A Service(knowledge, reasoner) together with the knowledge and the built-in reasoner that it
// refers to: as long as somebody uses it, they stay.
template <typename Service>
std::shared_ptr<const Service> MakeReasoned(std::shared_ptr<const knowledge::Knowledge> knowledge) {
  struct Whole {
    explicit Whole(std::shared_ptr<const knowledge::Knowledge> loaded)
        : book(std::move(loaded)), reasoner(*book), service(*book, reasoner) {}
    const std::shared_ptr<const knowledge::Knowledge> book;
    const BuiltinReasoner reasoner;
    const Service service;
  };
  auto whole = std::make_shared<const Whole>(std::move(knowledge));
  return {whole, &whole->service};
}

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_REASONED_H_
