#ifndef COMMON_REASONER_LLM_SCHEMA_H_
#define COMMON_REASONER_LLM_SCHEMA_H_

#include <cstddef>
#include <set>
#include <string>

#include "common/reasoner/llm/json.h"

// JSON Schemas of answers, of the few forms that endpoints have in common. All are pure.
namespace galen::reasoner::llm {

// At most so many characters: an answer that runs on is cut off by the endpoint, and is none then.
Json TextSchema(std::size_t most);
// `choices` must not be empty: an enumeration of nothing is no schema.
Json OneOf(const std::set<std::string>& choices);
Json ListOf(Json items, std::size_t most);
// With these members in this order, all of them and no others.
Json Object(Json properties);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_SCHEMA_H_
