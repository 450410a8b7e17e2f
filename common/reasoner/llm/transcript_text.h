#ifndef COMMON_REASONER_LLM_TRANSCRIPT_TEXT_H_
#define COMMON_REASONER_LLM_TRANSCRIPT_TEXT_H_

#include <map>
#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "common/llm/client.h"
#include "common/reasoner/llm/turn_text.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner::llm {

// How the turns so far are shown to a model.
struct TranscriptForm {
  bool tools = false;  // as tool uses of the protocol
  int most_turns = 0;
  int tokens = 0;  // at most; the oldest results are left out first
};

// The turns of the model: each as it wrote it, then the results that it was shown, or the
// objections to its verdicts. `judged`: verdicts of the built-in reasoner, by label. Pure.
std::vector<galen::llm::Message> TranscriptMessages(
    const knowledge::Knowledge& knowledge, const v1::InvestigateQuestion& question,
    const std::map<std::string, galen::v1::Verdict>& judged, const TextSizes& sizes,
    const TranscriptForm& form);

// Number of turns of the model, without Galen's own first reading.
int TurnsTaken(const v1::InvestigateQuestion& question);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_TRANSCRIPT_TEXT_H_
