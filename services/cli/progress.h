#ifndef SERVICES_CLI_PROGRESS_H_
#define SERVICES_CLI_PROGRESS_H_

#include <map>
#include <string>
#include <vector>

#include "galen/v1/diagnosis_event.pb.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// Tells a diagnosis as it happens: one event in, the lines that a reader wants to see of it out.
// The search itself is seen in the status; `--show-reasoning` prints it. Not thread-safe.
class Progress {
 public:
  explicit Progress(Terminal terminal) : terminal_(terminal) {}

  // Lines without newlines; may be none.
  std::vector<std::string> Tell(const v1::DiagnosisEvent& event);

  // The current step, for a line that is rewritten; "" when there is none.
  std::string Status() const { return status_; }

 private:
  std::vector<std::string> TellChecks();
  std::string VerdictLine(const v1::Verdict& verdict) const;

  const Terminal terminal_;
  std::string status_;
  std::map<std::string, v1::Verdict::Outcome> told_;  // the last verdict of each label
  std::vector<v1::CheckResult> batch_;                // results since the last batch ended
};

}  // namespace galen::cli

#endif  // SERVICES_CLI_PROGRESS_H_
