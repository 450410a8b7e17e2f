#ifndef SERVICES_CLI_ADVISOR_ADVISOR_TEXT_H_
#define SERVICES_CLI_ADVISOR_ADVISOR_TEXT_H_

#include <string>

#include "galen/advisor/v1/advisor.pb.h"
#include "services/cli/advisor/sign.h"
#include "services/cli/terminal.h"

// Texts of `galen advisor` for people. Text from the service is cleaned of control characters.
namespace galen::cli {

std::string SignedText(const Signed& workload);
std::string RegistrationText(const advisor::v1::RegisterJobResponse& response,
                             const Terminal& terminal);
std::string ProgressText(const advisor::v1::ReportProgressResponse& response);
std::string PatternsText(const advisor::v1::PatternSet& set, const Terminal& terminal);

// Whether one of the warnings says that the job does not run there, or computes wrongly.
bool HasError(const advisor::v1::RegisterJobResponse& response);

}  // namespace galen::cli

#endif  // SERVICES_CLI_ADVISOR_ADVISOR_TEXT_H_
