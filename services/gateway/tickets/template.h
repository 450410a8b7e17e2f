#ifndef SERVICES_GATEWAY_TICKETS_TEMPLATE_H_
#define SERVICES_GATEWAY_TICKETS_TEMPLATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace galen::gateway::tickets {

using Json = nlohmann::ordered_json;

// What may stand for "${name}": texts, and for a whole field also objects.
using Values = std::map<std::string, Json>;

// What is done to a value within text.
enum class Escaping : std::uint8_t {
  kNone,
  kUrl,     // percent-encoded, but for a value that begins with "http://" or "https://"
  kHeader,  // one line
};

// Replaces "${name}" and "${name|limit:80}" (at most so many bytes, cut where a character ends). A
// name without a value is left out: CheckTemplate() looked before. Pure.
std::string FillText(absl::string_view text, const Values& values, Escaping escaping);

// The same in all texts of a JSON tree. A text that is one "${name}" becomes the value itself; a
// member or item is left out when its text is one "${name}" whose value is "", and so is an object
// with a member "$if" that names a value that is "". Pure.
Json FillJson(const Json& tree, const Values& values);

// INVALID_ARGUMENT with the first "${...}" that cannot be read or whose name `known` does not know.
using Knows = std::function<bool(absl::string_view name)>;
absl::Status CheckText(absl::string_view text, const Knows& known);
absl::Status CheckJson(const Json& tree, const Knows& known);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_TEMPLATE_H_
