#ifndef COMMON_REASONER_LLM_SCHEMA_H_
#define COMMON_REASONER_LLM_SCHEMA_H_

#include <cstddef>
#include <set>
#include <string>

#include "common/reasoner/llm/json.h"

// JSON Schemas of answers, in the subset that endpoints have in common. All are pure.
namespace galen::reasoner::llm {

// A text of at most `most` characters: an endpoint cuts off a longer answer, which is then invalid.
Json TextSchema(std::size_t most);
// `choices` must not be empty: an empty enumeration is not a valid schema.
Json OneOf(const std::set<std::string>& choices);
Json ListOf(Json items, std::size_t most);
// An object with exactly these members in this order.
Json Object(Json properties);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_SCHEMA_H_
