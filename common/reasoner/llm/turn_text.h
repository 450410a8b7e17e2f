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

// The input of a model that investigates, as sections. Bounded in size for any case, and identical
// byte for byte at each turn, so that an endpoint reads it only once. All are pure.
namespace galen::reasoner::llm {

// Limits of the shown text. The short form is for models with a small context.
struct TextSizes {
  std::size_t report;    // bytes
  std::size_t messages;  // known messages of logs
  std::size_t results;   // checks that failed
  std::size_t lines;     // of each
  std::size_t causes;    // leaves offered by name
  std::size_t checks;    // names of checks that may run
  std::size_t past;      // past incidents
  std::size_t shown;     // bytes of one tool result
  std::size_t opening;   // bytes of the overview
  std::size_t passed;    // findings of checks that passed
};
inline constexpr TextSizes kLongForm = {3000, 14, 9, 5, 24, 24, 3, 3000, 3000, 6};
inline constexpr TextSizes kShortForm = {1200, 7, 5, 3, 14, 10, 2, 1200, 1400, 3};

// The overview that Galen read before the first turn of the model; null: none.
const galen::v1::ToolResult* OpeningOf(const v1::InvestigateQuestion& question);
// The call for the overview.
galen::v1::ToolCall OpeningCall();

// The sources of the texts of a case.
struct Told {
  const knowledge::Knowledge& knowledge;
  const v1::InvestigateQuestion& question;
  const std::set<std::string>& fresh;             // later results, which are left out
  const std::vector<galen::v1::Verdict>& ranked;  // leaves, most probable first
  const TextSizes& sizes;
};

// Number of leaves offered by name: those with a minimum share, and always the first ones.
std::size_t ListedCauses(const Told& told);

// The incident, the messages in its texts, the failed checks, and those of the likeliest causes
// that passed or have no result. `is_old`: whether a line is much older than the incident.
std::string CaseOf(const Told& told, const std::function<bool(const galen::v1::Citation&)>& is_old);

// Names of the passive checks of the likeliest causes that have not run.
std::string ChecksText(const Told& told);

// Whether a check can run: one gave an answer for this incident, or none was tried and there is a
// machine. It stays the same in all turns of a round.
bool CanRunChecks(const Told& told);

// The likeliest leaves with their probabilities, and the evidence for and against the first ones.
std::string CausesText(const Told& told);

// Past incidents with their resolutions.
std::string PastText(const knowledge::Knowledge& knowledge, const v1::HistoryAnswer& past,
                     const TextSizes& sizes);

// The result of a call. Omitted lines of a text are counted at their place.
std::string ResultText(const galen::v1::ToolResult& result, const galen::v1::ToolCall& call,
                       const TextSizes& sizes);

// The results of checks that the model had run.
galen::v1::ToolResult ResultOfChecks(const galen::v1::EvidenceSet& evidence,
                                     const galen::v1::ToolCall::RunChecks& call);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_TURN_TEXT_H_
