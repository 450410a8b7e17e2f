#ifndef SERVICES_CLI_TRIAGE_TRIAGE_JSON_H_
#define SERVICES_CLI_TRIAGE_TRIAGE_JSON_H_

#include <string>

#include "common/log_analysis/triage/report.h"

namespace galen::cli {

// A report as a JSON object in one line. Unknown values are absent. Pure.
std::string TriageJson(const triage::JobReport& report);

}  // namespace galen::cli

#endif  // SERVICES_CLI_TRIAGE_TRIAGE_JSON_H_
