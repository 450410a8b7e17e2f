#ifndef COMMON_REASONER_LLM_TURN_TEXT_H_
#define COMMON_REASONER_LLM_TURN_TEXT_H_

#include <set>
#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/investigation.pb.h"

// What a model that investigates is told, as sections. Bounded whatever the case holds, and the
// same byte for byte at each turn, so that an endpoint reads it once. All are pure.
namespace galen::reasoner::llm {

// How much is shown. The short form is for models with little room.
struct TextSizes {
  std::size_t report;    // bytes
  std::size_t messages;  // known messages of logs
  std::size_t results;   // checks that failed
  std::size_t lines;     // of each
  std::size_t causes;    // leaves that are offered by name
  std::size_t checks;    // names of checks that may be run
  std::size_t past;      // past incidents
  std::size_t shown;     // bytes of one tool result
};
inline constexpr TextSizes kLongForm = {3000, 14, 9, 5, 24, 90, 3, 3000};
inline constexpr TextSizes kShortForm = {1200, 7, 5, 3, 14, 30, 2, 1200};

// The incident, what was found in its texts, and what failed. Results named in `fresh` came later
// and are left out.
std::string CaseOf(const v1::InvestigateQuestion& question, const std::set<std::string>& fresh,
                   const TextSizes& sizes);

// Names of the passive checks that have not run.
std::string ChecksText(const knowledge::Knowledge& knowledge,
                       const v1::InvestigateQuestion& question, const std::set<std::string>& fresh,
                       const TextSizes& sizes);

// The likeliest leaves with their probabilities, most probable first.
std::string CausesText(const knowledge::Knowledge& knowledge,
                       const std::vector<galen::v1::Verdict>& ranked, const TextSizes& sizes);

// Past incidents with what cured them.
std::string PastText(const knowledge::Knowledge& knowledge, const v1::HistoryAnswer& past,
                     const TextSizes& sizes);

// What a call showed.
std::string ResultText(const galen::v1::ToolResult& result, const TextSizes& sizes);

// The results of checks that the model had run.
galen::v1::ToolResult ResultOfChecks(const galen::v1::EvidenceSet& evidence,
                                     const galen::v1::ToolCall::RunChecks& call);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_TURN_TEXT_H_
