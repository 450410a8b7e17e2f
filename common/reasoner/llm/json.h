#ifndef COMMON_REASONER_LLM_JSON_H_
#define COMMON_REASONER_LLM_JSON_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// What models write, read as what it is: foreign text. All are pure; every error is
// INVALID_ARGUMENT with a sentence that may be told to the model.
namespace galen::reasoner::llm {

// Keeps the order of members: models answer in the order of a schema, so what is to be thought
// first stands first in it.
using Json = nlohmann::ordered_json;

// Answers are a few kilobytes; more is a model that runs on.
inline constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

// The JSON object of an answer; a fence of ``` around it is left aside. Refuses what is longer than
// kMaxAnswerBytes, no UTF-8, nested more than 16 deep, or no object.
absl::StatusOr<Json> ParseObject(absl::string_view text);

// Member `name`: a text, cleaned and cut to `max_bytes`. Absent: refused, unless `optional`.
absl::StatusOr<std::string> TextOf(const Json& object, absl::string_view name,
                                   std::size_t max_bytes, bool optional = false);

// Member `name`: one of `choices`.
absl::StatusOr<std::string> ChoiceOf(const Json& object, absl::string_view name,
                                     const std::set<std::string>& choices);

// Member `name`: a list of at most `most` texts (what follows is left out), each cleaned and cut.
// Empty texts are left out.
absl::StatusOr<std::vector<std::string>> TextsOf(const Json& object, absl::string_view name,
                                                 std::size_t max_bytes, std::size_t most);

// Member `name`: a list of `choices`, none of them twice.
absl::StatusOr<std::vector<std::string>> ChoicesOf(const Json& object, absl::string_view name,
                                                   const std::set<std::string>& choices);

// Member `name`: a list of at most `most` objects; more is refused.
absl::StatusOr<std::vector<Json>> ObjectsOf(const Json& object, absl::string_view name,
                                            std::size_t most);

// On one line, whatever its texts hold.
std::string Dump(const Json& json);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_JSON_H_
