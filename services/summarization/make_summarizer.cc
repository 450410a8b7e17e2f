#include "services/summarization/make_summarizer.h"

#include <optional>
#include <utility>

#include "common/base/status_macros.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/log_analysis/triage/signatures.h"
#include "common/reasoner/llm/reasoned.h"

namespace galen::summarization {
namespace {

struct Whole {
  Whole(std::shared_ptr<const knowledge::Knowledge> loaded,
        std::unique_ptr<const log_scan::Scanner> compiled, const Clock& clock,
        Summarizer::Options options)
      : book(std::move(loaded)),
        scanner(std::move(compiled)),
        reasoners(*book, std::nullopt),
        summarizer(*scanner, reasoners.best(), clock, std::move(options)) {}
  const std::shared_ptr<const knowledge::Knowledge> book;
  const std::unique_ptr<const log_scan::Scanner> scanner;
  const reasoner::llm::Reasoners reasoners;
  const Summarizer summarizer;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const log_scan::Scanner>> MakeScanner(
    const knowledge::Knowledge& knowledge, const std::string& cache_directory) {
  log_scan::Patterns patterns = knowledge.base().signals();
  Survived::AddPatterns(triage::SignaturesOf(knowledge), patterns);
  return log_scan::Scanner::Create(std::move(patterns), cache_directory);
}

absl::StatusOr<std::shared_ptr<const Summarizer>> MakeSummarizer(
    std::shared_ptr<const knowledge::Knowledge> knowledge, const std::string& cache_directory,
    const Clock& clock, Summarizer::Options options) {
  options.survived = std::make_shared<const Survived>(triage::SignaturesOf(*knowledge));
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<const log_scan::Scanner> scanner,
                         MakeScanner(*knowledge, cache_directory));
  auto whole = std::make_shared<const Whole>(std::move(knowledge), std::move(scanner), clock,
                                             std::move(options));
  const Summarizer& summarizer = whole->summarizer;
  return std::shared_ptr<const Summarizer>(std::move(whole), &summarizer);
}

}  // namespace galen::summarization
