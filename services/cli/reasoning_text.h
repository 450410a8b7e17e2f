#ifndef SERVICES_CLI_REASONING_TEXT_H_
#define SERVICES_CLI_REASONING_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/v1/reasoning.pb.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// How the reasoning of a diagnosis is shown (`--show-reasoning`).
enum class ReasoningForm { kText, kDot, kMermaid };

// "text", "dot" or "mermaid"; INVALID_ARGUMENT for anything else.
absl::StatusOr<ReasoningForm> ParseReasoningForm(absl::string_view name);

// The graph: indented below its parents for people, in Graphviz's language, or in Mermaid's. A step
// that several lead to is told below the last of them. The texts are foreign: nothing in them can
// end a node or add an edge. Pure.
std::string ReasoningText(const std::vector<v1::ReasoningStep>& steps, ReasoningForm form,
                          const Terminal& terminal);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REASONING_TEXT_H_
