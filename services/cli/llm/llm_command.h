#ifndef SERVICES_CLI_LLM_LLM_COMMAND_H_
#define SERVICES_CLI_LLM_LLM_COMMAND_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen llm` as it was called.
struct LlmArguments {
  std::string file;  // of the endpoint; "": what GALEN_LLM names
  bool json = false;
  // For preview: the incident, with the arguments of `galen diagnose`.
  std::vector<std::string> words;
  std::vector<std::string> logs;
  std::string bundle;
  std::vector<std::string> knowledge;
};

// Declares the command, its own commands and their options, which are read into `arguments`.
CLI::App* DeclareLlm(CLI::App& app, LlmArguments& arguments);

// `galen llm check`: asks the endpoint what it can do, and prints it as a table or as one JSON
// object. kOk when questions are answered as the configuration asks them.
ExitCode CheckLlm(const LlmArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_LLM_LLM_COMMAND_H_
