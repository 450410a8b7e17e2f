#ifndef COMMON_REASONER_LLM_SCHEMA_H_
#define COMMON_REASONER_LLM_SCHEMA_H_

#include <set>
#include <string>

#include "common/reasoner/llm/json.h"

// JSON Schemas of answers, of the few forms that endpoints have in common. All are pure.
namespace galen::reasoner::llm {

Json TextSchema();
// `choices` must not be empty: an enumeration of nothing is no schema.
Json OneOf(const std::set<std::string>& choices);
Json ListOf(Json items);
// With these members, all of them and no others.
Json Object(Json properties);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_SCHEMA_H_
