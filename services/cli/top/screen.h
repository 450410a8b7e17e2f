#ifndef SERVICES_CLI_TOP_SCREEN_H_
#define SERVICES_CLI_TOP_SCREEN_H_

#include <string>

#include "services/cli/terminal.h"
#include "services/cli/top/snapshot.h"

namespace galen::cli::top {

// The snapshot as tables, with colour where the terminal shows it. No line is wider than the
// terminal, and there are at most `most_lines` (0: as many as it takes): diagnoses go first, the
// oldest ones. Pure.
std::string ScreenOf(const Snapshot& snapshot, const Terminal& terminal, int most_lines);

// The snapshot as one JSON object on a line. Pure.
std::string JsonOf(const Snapshot& snapshot);

}  // namespace galen::cli::top

#endif  // SERVICES_CLI_TOP_SCREEN_H_
