#ifndef COMMON_REASONER_LLM_TURN_TEXT_H_
#define COMMON_REASONER_LLM_TURN_TEXT_H_

#include <functional>
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
  std::size_t opening;   // bytes of the overview
  std::size_t passed;    // findings of checks that passed
};
inline constexpr TextSizes kLongForm = {3000, 14, 9, 5, 24, 24, 3, 3000, 3000, 6};
inline constexpr TextSizes kShortForm = {1200, 7, 5, 3, 14, 10, 2, 1200, 1400, 3};

// The overview that Galen read before the first turn of the model; null: none.
const galen::v1::ToolResult* OpeningOf(const v1::InvestigateQuestion& question);
// A call for it.
galen::v1::ToolCall OpeningCall();

// The sources of the texts of a case.
struct Told {
  const knowledge::Knowledge& knowledge;
  const v1::InvestigateQuestion& question;
  const std::set<std::string>& fresh;             // results that came later, and are left out
  const std::vector<galen::v1::Verdict>& ranked;  // leaves, most probable first
  const TextSizes& sizes;
};

// How many of the leaves are offered by name: those with a share, and never less than the first.
std::size_t ListedCauses(const Told& told);

// The incident, what was found in its texts, what failed, and what passed or is silent of that
// which the likeliest causes ask for. `is_old`: whether a line is much older than the incident.
std::string CaseOf(const Told& told, const std::function<bool(const galen::v1::Citation&)>& is_old);

// Names of the passive checks of the likeliest causes that have not run.
std::string ChecksText(const Told& told);

// The likeliest leaves with their probabilities, and what speaks for and against the first ones.
std::string CausesText(const Told& told);

// Past incidents with what cured them.
std::string PastText(const knowledge::Knowledge& knowledge, const v1::HistoryAnswer& past,
                     const TextSizes& sizes);

// What a call showed. Lines that are left out of what was read are counted where they are missing.
std::string ResultText(const galen::v1::ToolResult& result, const galen::v1::ToolCall& call,
                       const TextSizes& sizes);

// The results of checks that the model had run.
galen::v1::ToolResult ResultOfChecks(const galen::v1::EvidenceSet& evidence,
                                     const galen::v1::ToolCall::RunChecks& call);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_TURN_TEXT_H_
