#ifndef SERVICES_CLI_KB_REFUSE_H_
#define SERVICES_CLI_KB_REFUSE_H_

#include "absl/status/status.h"
#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// Says what was wrong; the exit code that goes with it.
inline ExitCode Refuse(const absl::Status& status, Console& console) {
  console.err << "galen: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_REFUSE_H_
