#ifndef SERVICES_CLI_KB_TABLE_H_
#define SERVICES_CLI_KB_TABLE_H_

#include <string>
#include <vector>

#include "services/cli/terminal.h"

namespace galen::cli {

// Rows under a head line, in columns that line up; columns whose head begins with '>' stand at the
// right. The last column is cut at the width of the terminal where a person looks at it.
std::string Table(const std::vector<std::string>& head,
                  const std::vector<std::vector<std::string>>& rows, const Terminal& terminal);

}  // namespace galen::cli

#endif  // SERVICES_CLI_KB_TABLE_H_
