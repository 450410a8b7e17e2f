#ifndef SERVICES_NODE_TRUNCATION_H_
#define SERVICES_NODE_TRUNCATION_H_

#include "absl/strings/string_view.h"

namespace galen::node {

// Whether a captured text ends within a line, as a copy that was cut does. Programs, chats and
// editors take the last newline of a text away: a last line that is built as an earlier one, and
// ends as that one does, or that has a number for each name of the line before it, is whole. A
// single line counts as cut. Pure.
bool IsTruncated(absl::string_view text);

// The same of a file. A file of sysfs or of /proc/sys holds one value, which is whole without a
// newline, too. Pure.
bool IsTruncatedFile(absl::string_view path, absl::string_view content);

}  // namespace galen::node

#endif  // SERVICES_NODE_TRUNCATION_H_
