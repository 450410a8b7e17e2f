#ifndef SERVICES_SUMMARIZATION_LOG_PATH_H_
#define SERVICES_SUMMARIZATION_LOG_PATH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "galen/v1/incident.pb.h"

namespace galen::summarization {

// Files that may be read. Paths come from the incident, so each is resolved, symbolic links
// included, before it is compared with the allowed ones. `roots` are directories; none: any place.

// The bundle's directory, resolved. NOT_FOUND: it does not exist; PERMISSION_DENIED: it is outside
// the roots; INVALID_ARGUMENT: it is not a directory.
absl::StatusOr<std::string> ResolveBundle(const std::string& bundle,
                                          absl::Span<const std::string> roots);

// The resolved path of the log `path`; the file itself need not exist. A relative path is below
// logs/ of `bundle` (as ResolveBundle returned it, "" for none) and must stay in the bundle; an
// absolute one must be in the bundle or below a root. PERMISSION_DENIED: it leads elsewhere;
// INVALID_ARGUMENT: it is relative without a bundle, or not a path at all.
absl::StatusOr<std::string> ResolveLog(const std::string& path, const std::string& bundle,
                                       absl::Span<const std::string> roots);

// The names that logs have in their incident, in their order. A relative path is its own name. An
// absolute one is shortened to the last parts that distinguish it from the others: the folders
// before them belong to the machine that Galen runs on. The same path twice has the same name
// twice.
std::vector<std::string> LogNames(
    const google::protobuf::RepeatedPtrField<galen::v1::LogSource>& logs);

// Names of the machines in a bundle, sorted, at most 10,000.
std::vector<std::string> NodesOfBundle(const std::string& bundle);

// The captured logs of events of a machine of a bundle (as ResolveBundle returned it), with paths
// relative to logs/: its kernel log, of kind SYSTEM, and the output of other programs
// (`journalctl`, `ipmitool sel`), of kind TOOL. Empty if the machine's list of commands cannot be
// read.
struct Capture {
  std::string name;  // "dmesg", "ipmitool sel elist"
  galen::v1::LogSource log;
};
std::vector<Capture> CapturesOf(const std::string& bundle, const std::string& node);

}  // namespace galen::summarization

#endif  // SERVICES_SUMMARIZATION_LOG_PATH_H_
