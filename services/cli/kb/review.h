#ifndef SERVICES_CLI_KB_REVIEW_H_
#define SERVICES_CLI_KB_REVIEW_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen kb review` as it was called.
struct ReviewArguments {
  std::vector<std::string> knowledge;
  std::string site;
  std::string by;
  std::vector<std::string> accept;  // ids, or "all"
  std::vector<std::string> reject;  // ids
  std::vector<std::string> undo;    // ids of what was accepted
  std::string why;
  bool list = false;
  bool decisions = false;
  std::string show;
  bool json = false;
};

// Lets a person edit a file.
using Editor = std::function<absl::Status(const std::string& path)>;

// $VISUAL, $EDITOR or vi, without a shell. UNAVAILABLE when it cannot be run or ends with an error.
absl::Status EditInTerminal(const std::string& path);

// Shows waiting proposals and takes decisions: from the options, or else from the terminal. A
// proposal with mistakes is not accepted; they are reported with file and line. kBadInput when one
// of the ids does not wait or has mistakes.
ExitCode ReviewProposals(const ReviewArguments& arguments, const Editor& edit, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_REVIEW_H_
