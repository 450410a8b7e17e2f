#ifndef SERVICES_CLI_KB_TABLE_H_
#define SERVICES_CLI_KB_TABLE_H_

#include <string>
#include <vector>

#include "services/cli/terminal.h"

namespace galen::cli {

// Rows under a head line, in aligned columns; a column whose head begins with '>' is aligned right.
// On a terminal, the last column is cut at its width.
std::string Table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows, const Terminal& terminal);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_TABLE_H_
