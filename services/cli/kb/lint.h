#ifndef SERVICES_CLI_KB_LINT_H_
#define SERVICES_CLI_KB_LINT_H_

#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb lint`: every mistake of the knowledge with file, line and remedy, then a count. If
// there is no other mistake, the signals are compiled as the log scan compiles them. kBadInput when
// there is an error; warnings alone are kOk.
ExitCode LintKnowledge(const std::vector<std::string>& directories, bool json, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_LINT_H_
