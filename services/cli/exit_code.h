#ifndef SERVICES_CLI_EXIT_CODE_H_
#define SERVICES_CLI_EXIT_CODE_H_

#include "absl/status/status.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::cli {

// Exit codes of `galen`.
enum ExitCode {
  kOk = 0,           // done; for `diagnose`: a cause is confirmed
  kBroken = 1,       // Galen itself failed
  kBadInput = 2,     // the caller can fix it
  kNoCause = 3,      // diagnosed, and no cause confirmed
  kUnreachable = 4,  // the service did not answer
  kMismatch = 5,     // `advisor register`: the job does not run there; `advisor test`: an alarm
};

// Pure.
ExitCode ExitCodeOf(const absl::Status& status);
ExitCode ExitCodeOf(const v1::Diagnosis& diagnosis);

}  // namespace galen::cli

#endif  // SERVICES_CLI_EXIT_CODE_H_
