#ifndef SERVICES_SUMMARIZATION_MAKE_SUMMARIZER_H_
#define SERVICES_SUMMARIZATION_MAKE_SUMMARIZER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/knowledge/knowledge.h"
#include "services/summarization/summarizer.h"

namespace galen::summarization {

// The compiled signals of `knowledge` and the patterns of Survived. The error is that of
// Scanner::Create().
absl::StatusOr<std::unique_ptr<const log_scan::Scanner>> MakeScanner(
    const knowledge::Knowledge& knowledge, const std::string& cache_directory);

// A summarizer and the objects that it refers to: the compiled signals of `knowledge`, the built-in
// reasoner, and the knowledge. They live as long as any user does. `clock` must outlive it. Errors
// as above.
absl::StatusOr<std::shared_ptr<const Summarizer>> MakeSummarizer(
    std::shared_ptr<const knowledge::Knowledge> knowledge, const std::string& cache_directory,
    const Clock& clock, Summarizer::Options options);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_MAKE_SUMMARIZER_H_
