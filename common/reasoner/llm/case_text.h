#ifndef COMMON_REASONER_LLM_CASE_TEXT_H_
#define COMMON_REASONER_LLM_CASE_TEXT_H_

#include <string>

#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"
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

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_CASE_TEXT_H_
