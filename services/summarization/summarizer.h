#ifndef SERVICES_SUMMARIZATION_SUMMARIZER_H_
#define SERVICES_SUMMARIZATION_SUMMARIZER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/log_analysis/scan/scanner.h"
#include "common/phrases/outcome.h"
#include "common/reasoner/reasoner.h"
#include "galen/summarization/v1/summarization.pb.h"
#include "services/summarization/survived.h"

namespace galen::summarization {

// Turns the texts of an incident (description, feedback, logs of any size) into signals, entities
// and notes, and has the reasoner put them into words. Constant memory. Thread-safe.
class Summarizer {
 public:
  struct Options {
    // Directories that logs and bundles may be read from; none: any place, as in a mesh of one
    // process, which has its user's own rights.
    std::vector<std::string> roots;
    // The most signals of a summary, the strongest ones; omissions are noted.
    std::size_t max_signals = 4000;
    // Vocabulary that recognises outcomes in what people report; null: none are recognised.
    std::shared_ptr<const phrases::OutcomeWords> words;
    // Recognises messages of failures that a program survived, which do not indicate the problem;
    // null: all count. The scanner has its patterns.
    std::shared_ptr<const Survived> survived;
  };

  // All must outlive the summarizer.
  Summarizer(const log_scan::Scanner& scanner, const reasoner::Reasoner& reasoner,
             const Clock& clock, Options options);

  // INVALID_ARGUMENT: there is nothing to read, or a log cannot be named so; NOT_FOUND: the bundle,
  // or a log outside a bundle, does not exist; PERMISSION_DENIED: it is outside the roots;
  // DEADLINE_EXCEEDED; the reasoner's own error. A missing or unreadable log of a bundle is a note.
  // Reading stops, with a note, when half the time to `deadline` is used up.
  absl::StatusOr<v1::SummarizeResponse> Summarize(const v1::SummarizeRequest& request,
                                                  absl::Time deadline) const;

  // Answers calls that read the incident's artefacts (look.h). Errors as above.
  absl::StatusOr<v1::LookResponse> Look(const v1::LookRequest& request, absl::Time deadline) const;

 private:
  const log_scan::Scanner& scanner_;
  const reasoner::Reasoner& reasoner_;
  const Clock& clock_;
  const Options options_;
};

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_SUMMARIZER_H_
