#ifndef SERVICES_NODE_EXEC_WORDS_H_
#define SERVICES_NODE_EXEC_WORDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "common/knowledge/knowledge.h"

namespace galen::node {

// Lines of a text without their ends, at most a million; the rest is left out. They point into it.
std::vector<absl::string_view> OutputLines(absl::string_view text);

// Words of a line, separated by blanks, at most 256. They point into it.
std::vector<absl::string_view> OutputWords(absl::string_view line);

// A finite number that is all of `word`.
std::optional<double> Number(absl::string_view word);

// The value of `fact` for that GPU model in knowledge/hardware; nothing when it is unknown.
std::optional<double> HardwareFact(const knowledge::Knowledge& knowledge, absl::string_view product,
                                   const std::string& fact);

// DATA_LOSS: the output is not that of `tool`; shows its first line.
absl::Status NotOutputOf(absl::string_view tool, absl::string_view text);

// The last line that a program printed, which is where it says why it ended: of standard error,
// else of standard output. Clean, at most 240 bytes.
std::string LastWords(const host::CommandResult& result);

}  // namespace galen::node

#endif  // SERVICES_NODE_EXEC_WORDS_H_
