#ifndef SERVICES_CLI_CHECKS_H_
#define SERVICES_CLI_CHECKS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/evidence.pb.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen checks list`: the catalogue as a table; `available` are those that this version can run.
// With `json`, one object a line.
ExitCode ListChecks(const knowledge::Knowledge& knowledge,
                    const std::vector<std::string>& available, bool json, Console& console);

// Prints results as a table with their findings, or one JSON object a line. kOk when every check
// passed or was skipped, kNoCause when one failed, kBroken when one could not be carried through.
ExitCode TellResults(absl::Span<const v1::CheckResult> results, bool json, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_CHECKS_H_
