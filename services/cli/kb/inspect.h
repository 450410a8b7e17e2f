#ifndef SERVICES_CLI_KB_INSPECT_H_
#define SERVICES_CLI_KB_INSPECT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb search`: entries that hold the words, a line each with file and line. kNoCause when
// there are none.
struct SearchArguments {
  std::vector<std::string> knowledge;
  std::vector<std::string> words;
  std::string kind;  // "" all
  std::size_t limit = 20;
  bool json = false;
};
ExitCode SearchKnowledge(const SearchArguments& arguments, Console& console);

// `galen kb stats`: recurrence by category and new labels by month.
ExitCode TellStatistics(const std::vector<std::string>& directories, bool json, Console& console);

// `galen kb diff`: what differs between two versions, each one or several directories by ',' or
// ':', or the first eight or more digits of a digest that this machine has loaded once.
struct DiffArguments {
  std::string before;
  std::string after;
  bool json = false;
};
ExitCode DiffKnowledge(const DiffArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_INSPECT_H_
