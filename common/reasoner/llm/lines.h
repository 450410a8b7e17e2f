#ifndef COMMON_REASONER_LLM_LINES_H_
#define COMMON_REASONER_LLM_LINES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/v1/evidence.pb.h"

// The artefacts of an incident as numbered lines, as shown to a model and as used to look up its
// quotes. A name is that of an artefact of the incident, never a path. All are pure.
namespace galen::reasoner::llm {

// The text of the report.
inline constexpr absl::string_view kReport = "report";
// "feedback/1": the first answer of the customer.
std::string FeedbackName(int number);

// Bytes of a line that are shown.
inline constexpr std::size_t kMostLine = 400;

// The limit for texts of people, who write a paragraph in one line.
inline constexpr std::size_t kMostOfParagraph = 2000;

// The lines of a text, cleaned and cut; the first one has number 1.
std::vector<std::string> LinesOfText(absl::string_view text, std::size_t most_line = kMostLine);

// The lines of a check result: its message, its findings, and its raw excerpt. Abnormal findings
// come first, then those that differ between devices; devices with equal findings share a line, and
// unknown findings share one line.
std::vector<std::string> LinesOfResult(const galen::v1::CheckResult& result);

// Splits "n1, n2" into names.
std::vector<std::string> NamesByComma(absl::string_view text);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_LINES_H_
