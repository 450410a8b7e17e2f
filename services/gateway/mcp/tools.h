#ifndef SERVICES_GATEWAY_MCP_TOOLS_H_
#define SERVICES_GATEWAY_MCP_TOOLS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// What an assistant may ask Galen, and which request of the public API each of it is. Pure.
namespace galen::gateway::mcp {

// The list as tools/list gives it, always in the same order.
const nlohmann::json& Tools();

// A request of the public API.
struct ApiCall {
  std::string method;  // "GET"
  std::string target;
  std::string body;
  std::string idempotency_key;  // "": none
  // After it (or at once, where `method` is empty), the diagnosis is watched until it is over or
  // `wait_seconds` have passed, and then read from `then`.
  bool watches = false;
  int wait_seconds = 0;
  std::string then;           // target of the final GET; "" where the diagnosis is yet to be named
  bool lists_checks = false;  // of what the catalogue has, the checks are wanted
  std::string evidence;       // id of the one piece of evidence that is wanted of it
};

// What `tool` with `arguments` asks. NOT_FOUND: there is no such tool; INVALID_ARGUMENT an argument
// that is missing, wrong, or not known. `tenant`: where the arguments name none.
absl::StatusOr<ApiCall> CallOf(absl::string_view tool, const nlohmann::json& arguments,
                               absl::string_view tenant);

// The final GET for a diagnosis.
std::string ReportTarget(absl::string_view name);

// What a tool gives of a diagnosis: name, state, cause with evidence, what was ruled out, what to
// do.
nlohmann::json Digest(const nlohmann::json& diagnosis);
// Of the catalogue as /v1/knowledge gives it, the checks that run_checks takes.
nlohmann::json ChecksOf(const nlohmann::json& knowledge);
// The one piece of evidence of a diagnosis; null when there is none of that id.
nlohmann::json EvidenceOf(const nlohmann::json& diagnosis, absl::string_view id);

}  // namespace galen::gateway::mcp

#endif  // SERVICES_GATEWAY_MCP_TOOLS_H_
