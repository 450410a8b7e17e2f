#ifndef SERVICES_GATEWAY_MCP_TOOLS_H_
#define SERVICES_GATEWAY_MCP_TOOLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// The tools of an assistant, and the request of the public API behind each. Pure.
namespace galen::gateway::mcp {

// The list for tools/list, always in the same order.
const nlohmann::json& Tools();

// A request of the public API.
struct ApiCall {
  std::string method;  // "GET"
  std::string target;
  std::string body;
  std::string idempotency_key;  // "": none
  // After the request (or at once, if `method` is empty), the diagnosis is watched until it is over
  // or `wait_seconds` have passed, and then read from `then`.
  bool watches = false;
  int wait_seconds = 0;
  std::string then;           // target of the final GET; "" where the diagnosis is yet to be named
  bool lists_checks = false;  // the answer is the checks of the catalogue
  std::string evidence;       // id of the one piece of evidence that is wanted of it
};

// The API call for `tool` with `arguments`. NOT_FOUND: there is no such tool; INVALID_ARGUMENT: an
// argument is missing, wrong or unknown. `tenant`: used if the arguments name none.
absl::StatusOr<ApiCall> CallOf(absl::string_view tool, const nlohmann::json& arguments,
                               absl::string_view tenant);

// The final GET for a diagnosis.
std::string ReportTarget(absl::string_view name);

// A tool's summary of a diagnosis: name, state, cause with evidence, causes that were ruled out,
// next steps.
nlohmann::json Digest(const nlohmann::json& diagnosis);
// The checks that run_checks accepts, from the catalogue in /v1/knowledge.
nlohmann::json ChecksOf(const nlohmann::json& knowledge);
// The piece of evidence with this id; null if the diagnosis has none.
nlohmann::json EvidenceOf(const nlohmann::json& diagnosis, absl::string_view id);

}  // namespace galen::gateway::mcp

#endif  // SERVICES_GATEWAY_MCP_TOOLS_H_
