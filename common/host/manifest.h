#ifndef COMMON_HOST_MANIFEST_H_
#define COMMON_HOST_MANIFEST_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::host {

// Name of the bundle format that this library reads and writes.
inline constexpr absl::string_view kBundleFormat = "galen.bundle/v1";

// A bundle.yaml.
struct Manifest {
  std::string captured_at;  // RFC 3339
  std::string captured_by;
  // Unset: the file has no list.
  std::optional<std::vector<std::string>> nodes;
  std::vector<std::string> refused;   // what could not be captured, and why
  std::vector<std::string> redacted;  // what was removed
};

// INVALID_ARGUMENT "file:line: what; remedy", also for another format version, and for nodes that
// are not valid host names, duplicate, or more than 10,000.
absl::StatusOr<Manifest> ParseManifest(absl::string_view text, absl::string_view file);

std::string FormatManifest(const Manifest& manifest);

}  // namespace galen::host

#endif  // COMMON_HOST_MANIFEST_H_
