#include "services/summarization/make_summarizer.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/logs/scanner.h"
#include "common/reasoner/llm/reasoned.h"

namespace galen::summarization {
namespace {

struct Whole {
  Whole(std::shared_ptr<const knowledge::Knowledge> loaded,
        std::unique_ptr<const logs::Scanner> compiled, const Clock& clock,
        Summarizer::Options options, const std::optional<reasoner::llm::Model>& model)
      : book(std::move(loaded)),
        scanner(std::move(compiled)),
        reasoners(*book, model),
        summarizer(*scanner, reasoners.best(), clock, std::move(options)) {}
  const std::shared_ptr<const knowledge::Knowledge> book;
  const std::unique_ptr<const logs::Scanner> scanner;
  const reasoner::llm::Reasoners reasoners;
  const Summarizer summarizer;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Summarizer>> MakeSummarizer(
    std::shared_ptr<const knowledge::Knowledge> knowledge, const std::string& cache_directory,
    const Clock& clock, Summarizer::Options options,
    const std::optional<reasoner::llm::Model>& model) {
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<const logs::Scanner> scanner,
                         logs::Scanner::Create(knowledge->base().signals(), cache_directory));
  auto whole = std::make_shared<const Whole>(std::move(knowledge), std::move(scanner), clock,
                                             std::move(options), model);
  const Summarizer& summarizer = whole->summarizer;
  return std::shared_ptr<const Summarizer>(std::move(whole), &summarizer);
}

}  // namespace galen::summarization
