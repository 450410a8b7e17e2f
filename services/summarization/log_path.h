#ifndef SERVICES_SUMMARIZATION_LOG_PATH_H_
#define SERVICES_SUMMARIZATION_LOG_PATH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "galen/v1/incident.pb.h"

namespace galen::summarization {

// Which files may be read. Paths come from the incident, so each is resolved, symbolic links
// included, before it is compared with what is allowed. `roots` are directories; none: any place.

// The bundle's directory, resolved. NOT_FOUND it does not exist; PERMISSION_DENIED it lies outside
// the roots; INVALID_ARGUMENT it is no directory.
absl::StatusOr<std::string> ResolveBundle(const std::string& bundle,
                                          absl::Span<const std::string> roots);

// Where the log `path` lies, resolved; the file itself need not exist. A relative path is below
// logs/ of `bundle` (as ResolveBundle gave it, "" for none) and must stay in the bundle; an
// absolute one must lie in the bundle or below a root. PERMISSION_DENIED it leads elsewhere;
// INVALID_ARGUMENT it is relative without a bundle, or no path at all.
absl::StatusOr<std::string> ResolveLog(const std::string& path, const std::string& bundle,
                                       absl::Span<const std::string> roots);

// Names of the machines that a bundle holds, sorted, at most 10,000.
std::vector<std::string> NodesOfBundle(const std::string& bundle);

// The logs of events that were captured of a machine of a bundle (as ResolveBundle gave it), with
// paths relative to logs/: its kernel log, of kind SYSTEM, and those that other programs print
// (`journalctl`, `ipmitool sel`), of kind TOOL. A machine whose list of commands cannot be read has
// none.
struct Capture {
  std::string name;  // "dmesg", "ipmitool sel elist"
  galen::v1::LogSource log;
};
std::vector<Capture> CapturesOf(const std::string& bundle, const std::string& node);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LOG_PATH_H_
