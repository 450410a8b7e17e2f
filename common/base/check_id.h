#ifndef COMMON_BASE_CHECK_ID_H_
#define COMMON_BASE_CHECK_ID_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace galen {

// The node that a check ran on, from the id of its result as evidence cites it: "n1" of
// "gpu.ecc@n1". "" for ids of other evidence ("signal/...", "incident/..."): they come with the
// incident, which may name any machine.
inline absl::string_view NodeOfCheckId(absl::string_view id) {
  const auto at = id.rfind('@');
  if (at == absl::string_view::npos || absl::StartsWith(id, "signal/") ||
      absl::StartsWith(id, "incident/")) {
    return "";
  }
  return id.substr(at + 1);
}

}  // namespace galen

#endif  // COMMON_BASE_CHECK_ID_H_
