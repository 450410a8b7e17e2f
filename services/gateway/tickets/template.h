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

// Values of "${name}": texts, and for a whole field also objects.
using Values = std::map<std::string, Json>;

// The encoding of a value within text.
enum class Escaping : std::uint8_t {
  kNone,
  kUrl,     // percent-encoded, but for a value that begins with "http://" or "https://"
  kHeader,  // one line
};

// Replaces "${name}" and "${name|limit:80}" (at most 80 bytes, cut at the end of a character). A
// name without a value is omitted: CheckTemplate() has checked the names before. Pure.
std::string FillText(absl::string_view text, const Values& values, Escaping escaping);

// The same in all texts of a JSON tree. A text that is one "${name}" becomes the value itself; a
// member or item is left out if its text is one "${name}" whose value is "", and so is an object
// with a member "$if" that names a value that is "". Pure.
Json FillJson(const Json& tree, const Values& values);

// INVALID_ARGUMENT with the first "${...}" that is malformed, or whose name is not in `known`.
using Knows = std::function<bool(absl::string_view name)>;
absl::Status CheckText(absl::string_view text, const Knows& known);
absl::Status CheckJson(const Json& tree, const Knows& known);

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_TEMPLATE_H_
