#ifndef SERVICES_CLI_KB_DRAFT_CHECK_COMMAND_H_
#define SERVICES_CLI_KB_DRAFT_CHECK_COMMAND_H_

#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb draft-check` as it was called.
struct DraftCheckArguments {
  std::vector<std::string> knowledge;
  std::string description;
  std::string shown;    // file with what the source says on a machine of known state; "" none
  bool faulty = false;  // that machine is at fault
  bool json = false;
};

// Prints the check that the description asks for as a knowledge file, or the check of the catalogue
// that does it already. Writes and runs nothing: a person puts the file into the site's directory.
// kBadInput where the description lacks something; the message says what.
ExitCode DraftCheckCommand(const DraftCheckArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_DRAFT_CHECK_COMMAND_H_
