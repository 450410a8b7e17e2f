#ifndef COMMON_INTAKE_PROMPT_H_
#define COMMON_INTAKE_PROMPT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::intake {

// A line that somebody typed at a shell: "[root@gpu02 ~]# dmesg -T", "mk@tarn:~$ groups", "$ df
// -h".
struct Prompt {
  std::string user;  // "" where the prompt does not show it
  std::string host;
  std::string typed;  // the text after the prompt; may be empty
  // Nothing but the sign, "$ " or "# ": a heading or a comment looks the same.
  bool bare = false;
};

// Nothing for a line that is not one. Pure.
std::optional<Prompt> FindPrompt(absl::string_view line);

// The command of a command line: of a pipeline, its first program.
struct Command {
  std::vector<std::string> argv;  // without sudo, variables, wrappers; the program without its path
  std::string host;               // `ssh HOST ...` ran it there
  // It ran on machines that only a variable or a list names, not on that of the prompt.
  bool elsewhere = false;
  // It ran on several machines (a loop over ssh or kubectl exec, pdsh, clush, Ansible), and
  // those that it names; none: it takes them from elsewhere.
  bool several = false;
  std::vector<std::string> machines;
  // The machine or pod in `ssh` or `kubectl exec`, with a variable of the shell: "root@node$i".
  std::string target;
  // `docker exec`, `kubectl exec`, `docker run`: inside a container.
  bool in_container = false;
  // Its output went through a filter (grep, head, tail, cut, awk, ...): what is missing from it
  // says nothing.
  bool filtered = false;
};

// Reads what was typed as a POSIX shell would, as far as the first program needs it. Pure; takes
// any text.
Command ReadCommand(absl::string_view typed);

// The typed text without programs that search, and without the words that they search for, which
// may be those of a message that nobody saw. Pure; takes any text.
std::string WithoutSearches(absl::string_view typed);

// Whether a container runtime generated this name: 12 hexadecimal digits or more, at least one of
// them 0 to 9. Such a host is a container on a machine of unknown name.
bool IsContainerId(absl::string_view host);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_PROMPT_H_
