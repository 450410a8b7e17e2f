#ifndef SERVICES_CLI_KB_HISTORY_COMMANDS_H_
#define SERVICES_CLI_KB_HISTORY_COMMANDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb history add`: past tickets whose cause is established into a site's history, which
// diagnoses are given with --history. A ticket that names no leaf of the taxonomy is left out, and
// told. kNoCause: none was added.
struct HistoryAddArguments {
  std::vector<std::string> knowledge;
  std::string directory;
  std::vector<std::string> files;
  bool json = false;
};
ExitCode AddToHistory(const HistoryAddArguments& arguments, Console& console);

// `galen kb history search`: the incidents of a site's history that are most like a text. kNoCause
// when there are none.
struct HistorySearchArguments {
  std::string directory;
  std::vector<std::string> words;
  std::size_t limit = 10;
  bool json = false;
};
ExitCode SearchHistory(const HistorySearchArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_HISTORY_COMMANDS_H_
