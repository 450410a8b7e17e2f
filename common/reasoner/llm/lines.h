#ifndef COMMON_REASONER_LLM_LINES_H_
#define COMMON_REASONER_LLM_LINES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/v1/evidence.pb.h"

// What an incident came with as numbered lines: how a model is shown it, and how its quotes are
// looked up. A name is that of one artefact of the incident, never a path. All are pure.
namespace galen::reasoner::llm {

// The words of the report.
inline constexpr absl::string_view kReport = "report";
// "feedback/1": the first answer of the customer.
std::string FeedbackName(int number);

// The most of a line that is shown.
inline constexpr std::size_t kMostLine = 400;

// The lines of a text, cleaned and cut; the first one has number 1.
std::vector<std::string> LinesOfText(absl::string_view text);

// A check result: what it says, its findings with the abnormal ones first, and its raw excerpt.
std::vector<std::string> LinesOfResult(const galen::v1::CheckResult& result);

// "links_inactive 12 (expected 0), abnormal, of gpu:1".
std::string FindingText(const galen::v1::Finding& finding);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_LINES_H_
