#ifndef COMMON_REMEDIATION_RUN_ACTION_H_
#define COMMON_REMEDIATION_RUN_ACTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/v1/evidence.pb.h"

namespace galen::remediation {

using Argv = std::vector<std::string>;

// An action that a node executor can carry out on its own machine: commands without a shell, from
// knowledge/actions. Their placeholders are filled in from the device and from the action's own
// parameters, never from a report, a log or a model.
struct RunAction {
  enum class Target { kNode, kGpu };
  // A read-only command, and its expected output.
  struct Condition {
    Argv argv;
    std::vector<std::string> prints;  // one of them, without white space at both ends
    std::string text;                 // "no process is on this GPU"
  };
  // A finding about the target that a check has to report afterwards.
  struct Recovery {
    std::string check;
    std::string finding;
    std::string is;  // as text: "false", "1410"
  };

  std::string name;  // "node.reset_gpu_clocks"
  std::string text;  // the text that a person reads and approves
  std::vector<std::string> labels;
  Target target = Target::kNode;
  std::map<std::string, std::string> parameters;  // within their bounds
  std::vector<Condition> before;                  // otherwise nothing is done
  std::vector<Argv> steps;
  std::vector<Condition> after;            // polled until the condition holds, or time is up
  absl::Duration time = absl::Minutes(1);  // of steps and `after`
  // Polling starts `settle` after the steps, and continues for at most `recover` until the
  // condition holds.
  std::vector<Recovery> verify;
  absl::Duration settle = absl::ZeroDuration();
  absl::Duration recover = absl::Minutes(2);
};

// An action on one target, with all placeholders filled in.
struct Filled {
  std::string text;
  std::vector<RunAction::Condition> before;
  std::vector<Argv> steps;
  std::vector<RunAction::Condition> after;
};

// INVALID_ARGUMENT if the device lacks a value that the action needs (its node; for a GPU its PCI
// address), or has it in an invalid form. Pure.
absl::StatusOr<Filled> Fill(const RunAction& action, const galen::v1::Device& device);

// The plan, line by line, for people and for the approval's hash.
std::vector<std::string> PlanOf(const RunAction& action, const Filled& filled);

// The actions of one file of knowledge/actions. INVALID_ARGUMENT with file, line and remedy; also
// for a parameter out of its bounds, an unknown placeholder, or a command that runs a shell.
absl::StatusOr<std::vector<RunAction>> ParseRunActions(absl::string_view text,
                                                       absl::string_view file);

// All of knowledge/actions; if two have one name, the later one counts.
absl::StatusOr<std::vector<RunAction>> LoadRunActions(const std::vector<std::string>& directories);

}  // namespace galen::remediation

#endif  // COMMON_REMEDIATION_RUN_ACTION_H_
