#ifndef COMMON_HOST_NODE_NAME_H_
#define COMMON_HOST_NODE_NAME_H_

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace galen::host {

// Name of the machine for evidence that names none: there is one machine with an unknown name.
inline constexpr absl::string_view kReportedMachine = "reported-machine";

// True if `name` is a valid name of a node, and thus of a directory below nodes/: letters, digits,
// ".", "_" and "-", at most 253 characters, a letter or digit first.
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
