#ifndef COMMON_REASONER_LLM_CASE_TEXT_H_
#define COMMON_REASONER_LLM_CASE_TEXT_H_

#include <map>
#include <string>

#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/diagnosis.pb.h"
#include "galen/v1/evidence.pb.h"
#include "galen/v1/incident.pb.h"

// What a model is told of a case, as sections. Bounded in size whatever the case holds, and the
// same for the same case byte for byte, so that the questions of one diagnosis share a prefix. All
// are pure.
namespace galen::reasoner::llm {

// The incident and the known messages in its texts: the same in every question of a round.
std::string IncidentText(const galen::v1::Incident& incident, const galen::v1::Summary& summary);

// What was added and measured since: feedback, then the checks that failed, by id, then how many
// did not. Grows as the diagnosis goes on.
std::string EvidenceText(const knowledge::Knowledge& knowledge,
                         const galen::v1::EvidenceSet& evidence);

// The main categories of the taxonomy.
std::string CategoriesText(const knowledge::Knowledge& knowledge);

// What may be chosen.
std::string ChoicesText(const google::protobuf::RepeatedPtrField<v1::Choice>& choices);
// Causes of past incidents, with what they resemble.
std::string ChoicesText(const knowledge::Knowledge& knowledge, const v1::HistoryAnswer& offered);

// Hypotheses with their verdicts, the confirmed ones first; rejected ones by name only.
std::string JudgedText(const google::protobuf::RepeatedPtrField<galen::v1::Hypothesis>& judged);

// A leaf with its rules in words, and what they made of the evidence.
std::string HypothesisText(const knowledge::Knowledge& knowledge,
                           const galen::v1::Verdict& verdict);

// What an answer may cite, by the short names under which the texts above show it: "s1" a signal,
// "c1" a check result.
std::map<std::string, std::string> ShownIds(const galen::v1::EvidenceSet& evidence);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_CASE_TEXT_H_
