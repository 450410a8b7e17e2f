#ifndef COMMON_HOST_NODE_NAME_H_
#define COMMON_HOST_NODE_NAME_H_

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace galen::host {

// The machine that evidence is of which names none: there is one, and nobody told its name.
inline constexpr absl::string_view kReportedMachine = "reported-machine";

// True when `name` may name a node and so a directory below nodes/: letters, digits, ".", "_" and
// "-", at most 253 of them, a letter or digit first.
inline bool IsNodeName(absl::string_view name) {
  if (name.empty() || name.size() > 253 ||
      !absl::ascii_isalnum(static_cast<unsigned char>(name[0]))) {
    return false;
  }
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-') {
      return false;
    }
  }
  return true;
}

}  // namespace galen::host

#endif  // COMMON_HOST_NODE_NAME_H_
