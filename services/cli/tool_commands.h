#ifndef SERVICES_CLI_TOOL_COMMANDS_H_
#define SERVICES_CLI_TOOL_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// The commands of `galen` that have a folder of their own and share nothing with others: each
// declares its options, and is run with what was given.
class ToolCommands {
 public:
  // Declares them in `app`, which must outlive it.
  explicit ToolCommands(CLI::App& app);

  // Runs the one that was called; nullopt when it was another command. After parsing.
  std::optional<ExitCode> Run(Console& console) const;

 private:
  struct Command {
    const CLI::App* app;
    std::function<ExitCode(Console&)> run;
  };
  // `declare` puts the command into the app, with arguments that live as long as this.
  template <typename Arguments, typename Declare, typename RunIt>
  void Add(CLI::App& app, Declare declare, RunIt run);

  std::vector<Command> commands_;
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_TOOL_COMMANDS_H_
