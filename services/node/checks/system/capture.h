#ifndef SERVICES_NODE_CHECKS_SYSTEM_CAPTURE_H_
#define SERVICES_NODE_CHECKS_SYSTEM_CAPTURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// The output of `argv`. Errors of the host pass through. A program that failed and printed nothing
// is PERMISSION_DENIED when it says so, else FAILED_PRECONDITION with its first line of complaint.
absl::StatusOr<std::string> Output(const host::Host& host, const std::vector<std::string>& argv,
                                   host::View view = host::View::kHost);

// The first line of a small file, without surrounding space.
absl::StatusOr<std::string> FirstLine(const host::Host& host, absl::string_view path,
                                      host::View view = host::View::kHost);

// Lines of a text, each cut at 4 KiB: no parser sees a longer one.
std::vector<absl::string_view> Lines(absl::string_view text);

// Words of a line, separated by blanks and tabs.
std::vector<absl::string_view> Words(absl::string_view line);

// The number that a text starts with: "16 kB" gives 16; nothing when it starts with none.
std::optional<std::int64_t> LeadingInt(absl::string_view text);
std::optional<double> LeadingDouble(absl::string_view text);

// True for a known absence, as opposed to not knowing.
inline bool IsAbsent(const absl::Status& status) {
  return status.code() == absl::StatusCode::kNotFound;
}

// Last component of a path.
absl::string_view BaseName(absl::string_view path);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_CAPTURE_H_
