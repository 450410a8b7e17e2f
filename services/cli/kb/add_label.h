#ifndef SERVICES_CLI_KB_ADD_LABEL_H_
#define SERVICES_CLI_KB_ADD_LABEL_H_

#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb add-label` as it was called. Each text of `signals`, the rules and
// `findings` has its parts in order, by spaces; the last part takes the rest.
struct AddLabelArguments {
  std::vector<std::string> knowledge;
  std::string site;
  std::string label;
  std::string title;
  std::string description;
  std::vector<std::string> symptoms;
  std::vector<std::string> signals;   // WHERE STRENGTH PATTERN
  std::vector<std::string> defining;  // CHECK FINDING OP VALUE
  std::vector<std::string> confirm;   // the same
  std::vector<std::string> refute;
  std::string owner;
  std::string severity;
  std::string prior;
  std::string mitigation;
  // A check of the site's own, of kind extract.
  std::string check;
  std::string file;     // that it reads, or
  std::string command;  // that it runs, split at spaces
  std::string cost = "1s";
  std::vector<std::string> findings;  // NAME TYPE SUBJECT PATTERN
  bool replace = false;               // what is there of this name
  bool json = false;
};

// Writes one file with a label, its rules and, where given, its check into the site's directory,
// once lint finds no mistake in it. Asks for what is missing where a person sits there. kBadInput
// when something is missing or wrong: nothing is written then.
ExitCode AddLabel(AddLabelArguments arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_ADD_LABEL_H_
