#ifndef COMMON_HOST_EDIT_H_
#define COMMON_HOST_EDIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/host/host.h"
#include "galen/v1/incident.pb.h"

namespace galen::host {

// Makes a support bundle by hand, piece by piece; Bundle::Open reads it after each step. A node
// that the bundle does not have yet is added. The order of calls does not matter, and a second
// call for the same thing replaces the first. Not for several writers at the same time.
//
// Errors: NOT_FOUND, PERMISSION_DENIED a file or the bundle itself; INVALID_ARGUMENT a name or path
// is not usable, or a YAML file of the bundle is broken ("file:line: what; remedy");
// ALREADY_EXISTS NewBundle into a directory with something in it.

// Makes an empty bundle. `description` is the report in the customer's words.
absl::Status NewBundle(const std::string& directory, absl::string_view description,
                       const std::vector<std::string>& nodes, absl::Time now);

// Sees to it that the bundle has the node, with nothing captured of it.
absl::Status AddNode(const std::string& directory, absl::string_view node);

// The whole incident.yaml at once. The paths of its logs are below logs/.
absl::Status SetIncident(const std::string& directory, const v1::Incident& incident);

// What a program printed and how it ended.
struct CommandOutput {
  std::string out = {};
  std::string err = {};
  int exit_code = 0;
  absl::Duration duration = absl::ZeroDuration();
  bool excerpt = false;  // as CommandResult::excerpt
};
absl::Status AddCommand(const std::string& directory, absl::string_view node, View view,
                        const std::vector<std::string>& argv, const CommandOutput& output);

// The program of `argv` is known not to be installed.
absl::Status AddAbsentCommand(const std::string& directory, absl::string_view node, View view,
                              const std::vector<std::string>& argv);

// A file of the node: what `source` holds now is kept as the content of `path` (absolute).
absl::Status AddFile(const std::string& directory, absl::string_view node, View view,
                     absl::string_view path, const std::string& source);

// `path` is known not to exist on the node.
absl::Status AddAbsentFile(const std::string& directory, absl::string_view node, View view,
                           absl::string_view path);

// A log: `source` is copied to logs/ under its own name.
struct LogDetails {
  std::string node = {};  // empty: not known
  std::optional<std::int32_t> rank = std::nullopt;
  v1::LogSource::Kind kind = v1::LogSource::JOB;
};
absl::Status AddLog(const std::string& directory, const std::string& source,
                    const LogDetails& details);

// Variables of the job on the node, added to those it has.
absl::Status AddEnvironment(const std::string& directory, absl::string_view node,
                            const std::map<std::string, std::string>& variables);

// The text of an env.yaml. Names that would look alike there are numbered.
std::string FormatEnvironment(const std::map<std::string, std::string>& variables);

}  // namespace galen::host

#endif  // COMMON_HOST_EDIT_H_
