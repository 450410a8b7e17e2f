#ifndef SERVICES_CLI_LLM_PREVIEW_H_
#define SERVICES_CLI_LLM_PREVIEW_H_

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/llm/llm_command.h"

namespace galen::cli {

// `galen llm preview`: diagnoses the incident with a model that is never called, and prints the
// requests that the endpoint would get, byte for byte, with secrets masked. Nothing is sent. Later
// turns of an investigation depend on the model's answers, so only the first one is shown.
ExitCode PreviewLlm(const LlmArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_LLM_PREVIEW_H_
