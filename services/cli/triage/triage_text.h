#ifndef SERVICES_CLI_TRIAGE_TRIAGE_TEXT_H_
#define SERVICES_CLI_TRIAGE_TRIAGE_TEXT_H_

#include <string>

#include "common/log_analysis/triage/report.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// A report for a person: what is known, in aligned lines, and what is not. Pure.
std::string TriageText(const triage::JobReport& report, const Terminal& terminal);

}  // namespace galen::cli

#endif  // SERVICES_CLI_TRIAGE_TRIAGE_TEXT_H_
