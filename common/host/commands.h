#ifndef COMMON_HOST_COMMANDS_H_
#define COMMON_HOST_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace galen::host {

// One entry of commands.yaml.
struct CapturedCommand {
  std::vector<std::string> argv;  // never empty
  bool absent = false;            // the program was not installed; nothing below is set
  bool timed_out = false;         // it was killed because it did not answer; no output
  // Only a part of its output was kept, so absence in it proves nothing.
  bool excerpt = false;
  int exit_code = 0;
  std::string stdout_file;  // relative to the directory of commands.yaml; empty: no output
  std::string stderr_file;
  absl::Duration duration;
};

// Reads a commands.yaml. Errors are those of ParseYaml, with the line of the entry.
absl::StatusOr<std::vector<CapturedCommand>> ParseCommands(absl::string_view text,
                                                           absl::string_view file);

// The text of a commands.yaml, one entry per line.
std::string FormatCommands(absl::Span<const CapturedCommand> commands);

// `argv` as a person would type it, for messages; cleaned and at most 160 bytes.
std::string ShownCommand(absl::Span<const std::string> argv);

}  // namespace galen::host

#endif  // COMMON_HOST_COMMANDS_H_
