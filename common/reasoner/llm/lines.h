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

// The same of the words of a person, who writes a paragraph in one line.
inline constexpr std::size_t kMostOfParagraph = 2000;

// The lines of a text, cleaned and cut; the first one has number 1.
std::vector<std::string> LinesOfText(absl::string_view text, std::size_t most_line = kMostLine);

// A check result: what it says, its findings, and its raw excerpt. The abnormal findings come
// first, then those that differ between devices; devices of which the same is true share a line,
// and what is not known is one line.
std::vector<std::string> LinesOfResult(const galen::v1::CheckResult& result);

// "n1, n2" as its names.
std::vector<std::string> NamesByComma(absl::string_view text);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_LINES_H_
