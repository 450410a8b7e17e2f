#ifndef COMMON_HOST_CAPTURE_PLAN_H_
#define COMMON_HOST_CAPTURE_PLAN_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "common/host/redact.h"

namespace galen::host {

// The commands and files that a capture reads from a node, and the secrets that it masks, as listed
// in knowledge/capture.txt. One entry per line; "#" begins a comment line:
//
//   run PROGRAM ARGUMENT...           a command of the node; arguments contain no spaces
//   read GLOB                         files of the node; {a,b} is expanded
//   job-run PROGRAM ARGUMENT...       the same, in the view of the job
//   job-read GLOB
//   redact KIND PATTERN               a secret in text; KIND is one word, "-" stands for a space
//   redact-variable PATTERN           a variable whose value is a secret
//   redact-not PATTERN                an exception: a match of these that is not a secret
//   redact-path KIND PATTERN          a path of the customer, masked only on request
//   leave-out WHY ENTRY...            read by checks, but not captured; WHY as KIND
//
// Commands and globs may contain placeholders such as <netdev>: the entry is repeated for each of
// its values, and left out if there is none.
struct CapturePlan {
  struct Command {
    std::vector<std::string> argv;
    View view;
  };
  struct Files {
    std::string glob;
    View view;
  };
  struct LeftOut {
    std::string entry;
    std::string why;
  };
  std::vector<Command> commands;
  std::vector<Files> files;
  std::vector<LeftOut> left_out;
  Redactor redactor;
  Redactor paths;
};

// INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<CapturePlan> ParseCapturePlan(absl::string_view text, absl::string_view file);

// Reads a plan from disk. NOT_FOUND, PERMISSION_DENIED, or the errors of ParseCapturePlan.
absl::StatusOr<CapturePlan> LoadCapturePlan(const std::string& path);

// Values of placeholders, by name without the brackets.
using Placeholders = std::map<std::string, std::vector<std::string>, std::less<>>;

// `word` once for each combination of the values of its placeholders, in order.
std::vector<std::string> ExpandWord(absl::string_view word, const Placeholders& values);

// `argv` once for each value; a placeholder that occurs twice has the same value in both places.
std::vector<std::vector<std::string>> ExpandCommand(const std::vector<std::string>& argv,
                                                    const Placeholders& values);

}  // namespace galen::host

#endif  // COMMON_HOST_CAPTURE_PLAN_H_
