#ifndef SERVICES_CLI_ANSWER_H_
#define SERVICES_CLI_ANSWER_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// Shared by commands that answer once, out of files and the knowledge.

// Declares --knowledge.
void DeclareKnowledge(CLI::App& command, std::vector<std::string>& knowledge);
// Declares --json and --knowledge.
void DeclareAnswer(CLI::App& command, bool& json, std::vector<std::string>& knowledge);

// A picture or table beside the answer. PERMISSION_DENIED names the path.
absl::Status WriteFile(const std::string& path, absl::string_view text);

// Tells the person an error, and gives what a script is told.
ExitCode ExitWith(const absl::Status& status, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_ANSWER_H_
