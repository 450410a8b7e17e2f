#ifndef SERVICES_CLI_REPORT_TEXT_H_
#define SERVICES_CLI_REPORT_TEXT_H_

#include <string>

#include "galen/v1/diagnosis.pb.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// The report as people read it on a terminal, ending in a newline. Pure.
std::string ReportText(const v1::Report& report, const Terminal& terminal);

// "gpu:1 on node-92 (0000:0f:00.0)"; the node alone for the node as a whole.
std::string DeviceText(const v1::Device& device);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REPORT_TEXT_H_
