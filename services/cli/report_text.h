#ifndef SERVICES_CLI_REPORT_TEXT_H_
#define SERVICES_CLI_REPORT_TEXT_H_

#include <string>

#include "galen/v1/diagnosis.pb.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// The report as people read it on a terminal, ending in a newline: what is wrong and where, the
// lines that show it, what to do, what would settle it, and what was read. At most 40 lines of 100
// columns; `verbose` adds all that was ruled out or left undecided, and the notes. Pure.
std::string ReportText(const v1::Diagnosis& diagnosis, bool verbose, const Terminal& terminal);

// "gpu:1 on node-92 (0000:0f:00.0)"; the node alone for the node as a whole.
std::string DeviceText(const v1::Device& device);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REPORT_TEXT_H_
