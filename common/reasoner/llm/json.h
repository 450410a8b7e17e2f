#ifndef COMMON_REASONER_LLM_JSON_H_
#define COMMON_REASONER_LLM_JSON_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// Parses the output of models as untrusted text. All are pure; every error is INVALID_ARGUMENT with
// a sentence that may be sent to the model.
namespace galen::reasoner::llm {

// Keeps the order of members: models answer in the order of a schema, so thoughts come first in it.
using Json = nlohmann::ordered_json;

// Answers have a few kilobytes; a longer one is from a model that does not stop.
inline constexpr std::size_t kMaxAnswerBytes = 64 * 1024;

// The JSON object of an answer; a fence of ``` around it is ignored. Refuses text that is longer
// than kMaxAnswerBytes, not UTF-8, nested more than 16 deep, or not an object.
absl::StatusOr<Json> ParseObject(absl::string_view text);

// Member `name`: a text, cleaned and cut to `max_bytes`. Absent: refused, unless `optional`.
absl::StatusOr<std::string> TextOf(const Json& object, absl::string_view name,
                                   std::size_t max_bytes, bool optional = false);

// Member `name`: one of `choices`.
absl::StatusOr<std::string> ChoiceOf(const Json& object, absl::string_view name,
                                     const std::set<std::string>& choices);

// Member `name`: a list of texts, each cleaned and cut. Empty texts, and those after the first
// `most`, are left out.
absl::StatusOr<std::vector<std::string>> TextsOf(const Json& object, absl::string_view name,
                                                 std::size_t max_bytes, std::size_t most);

// Member `name`: a list of `choices`, none of them twice.
absl::StatusOr<std::vector<std::string>> ChoicesOf(const Json& object, absl::string_view name,
                                                   const std::set<std::string>& choices);

// Member `name`: a list of at most `most` objects; more is refused.
absl::StatusOr<std::vector<Json>> ObjectsOf(const Json& object, absl::string_view name,
                                            std::size_t most);

// Serializes on one line, for any texts.
std::string Dump(const Json& json);

}  // namespace galen::reasoner::llm

#endif  // COMMON_REASONER_LLM_JSON_H_
