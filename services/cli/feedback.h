#ifndef SERVICES_CLI_FEEDBACK_H_
#define SERVICES_CLI_FEEDBACK_H_

#include <string>

#include "services/cli/diagnose.h"
#include "services/cli/diagnosis_api.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen feedback` as it was called.
struct FeedbackArguments {
  std::string name;     // tenants/T/diagnoses/D, or D alone of the default tenant
  std::string text;     // what is new, or what the person saw and did
  std::string confirm;  // label of the cause that a person established
  std::string by;
  std::string server;  // "": the store of this machine
  std::string site;    // where a confirmed diagnosis becomes a proposal
};

// Sends words or a confirmation to a diagnosis and says what became of it. A confirmation sent
// twice counts once.
ExitCode SendFeedback(DiagnosisApi& api, const FeedbackArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_FEEDBACK_H_
