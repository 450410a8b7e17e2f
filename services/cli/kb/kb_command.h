#ifndef SERVICES_CLI_KB_KB_COMMAND_H_
#define SERVICES_CLI_KB_KB_COMMAND_H_

#include <CLI/App.hpp>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"
#include "services/cli/kb/add_label.h"
#include "services/cli/kb/history_commands.h"
#include "services/cli/kb/ingest_command.h"
#include "services/cli/kb/inspect.h"
#include "services/cli/kb/review.h"

namespace galen::cli {

// `galen kb` as it was called.
struct KbArguments {
  std::vector<std::string> knowledge;
  std::string site;
  bool json = false;
  SearchArguments search;
  DiffArguments diff;
  HistoryAddArguments history_add;
  HistorySearchArguments history_search;
  IngestArguments ingest;
  ReviewArguments review;
  AddLabelArguments add_label;
};

// Declares the command, its own commands and their options, which are read into `arguments`.
CLI::App* DeclareKb(CLI::App& app, KbArguments& arguments);

// Runs the one that was called.
ExitCode RunKb(const CLI::App& kb, KbArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_KB_COMMAND_H_
