#ifndef COMMON_REASONER_LLM_CASE_TEXT_H_
#define COMMON_REASONER_LLM_CASE_TEXT_H_

#include <string>

#include "common/knowledge/knowledge.h"
#include "galen/reasoner/v1/reasoner.pb.h"
#include "galen/v1/evidence.pb.h"
#include "galen/v1/incident.pb.h"

// The description of a case for a model, as sections. Bounded in size for any case, and identical
// for the same case byte for byte, so that the questions of one diagnosis share a prefix. All are
// pure.
namespace galen::reasoner::llm {

// The incident and the known messages in its texts: the same in every question of a round.
std::string IncidentText(const galen::v1::Incident& incident, const galen::v1::Summary& summary);

// Later additions: feedback, then the failed checks, by id, then the number of others. Grows during
// the diagnosis.
std::string EvidenceText(const knowledge::Knowledge& knowledge,
                         const galen::v1::EvidenceSet& evidence);

// The main categories of the taxonomy.
std::string CategoriesText(const knowledge::Knowledge& knowledge);

// The choices of a question.
std::string ChoicesText(const google::protobuf::RepeatedPtrField<v1::Choice>& choices);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_CASE_TEXT_H_
