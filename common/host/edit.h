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
// is invalid, or a YAML file of the bundle is invalid ("file:line: what; remedy"); ALREADY_EXISTS
// the directory for NewBundle is not empty.

// Makes an empty bundle. `description` is the report in the customer's words.
absl::Status NewBundle(const std::string& directory, absl::string_view description,
                       const std::vector<std::string>& nodes, absl::Time now);

// Adds the node without captured data, unless the bundle has it.
absl::Status AddNode(const std::string& directory, absl::string_view node);

// Replaces the whole incident.yaml. The paths of its logs are below logs/.
absl::Status SetIncident(const std::string& directory, const v1::Incident& incident);

// Output and exit of a program.
struct CommandOutput {
  std::string out = {};
  std::string err = {};
  int exit_code = 0;
  absl::Duration duration = absl::ZeroDuration();
  bool excerpt = false;  // as CommandResult::excerpt
};
absl::Status AddCommand(const std::string& directory, absl::string_view node, View view,
                        const std::vector<std::string>& argv, const CommandOutput& output);

// Records that the program of `argv` is not installed.
absl::Status AddAbsentCommand(const std::string& directory, absl::string_view node, View view,
                              const std::vector<std::string>& argv);

// Adds a file of the node: the content of `source` is stored as `path` (absolute).
absl::Status AddFile(const std::string& directory, absl::string_view node, View view,
                     absl::string_view path, const std::string& source);

// Records that `path` does not exist on the node.
absl::Status AddAbsentFile(const std::string& directory, absl::string_view node, View view,
                           absl::string_view path);

// Details of a log; its file is copied to logs/ under its own name.
struct LogDetails {
  std::string node = {};  // empty: unknown
  std::optional<std::int32_t> rank = std::nullopt;
  v1::LogSource::Kind kind = v1::LogSource::JOB;
};
absl::Status AddLog(const std::string& directory, const std::string& source,
                    const LogDetails& details);

// Adds variables to the job's environment on the node.
absl::Status AddEnvironment(const std::string& directory, absl::string_view node,
                            const std::map<std::string, std::string>& variables);

// The text of an env.yaml. Names that would become equal there are numbered.
std::string FormatEnvironment(const std::map<std::string, std::string>& variables);

}  // namespace galen::host

#endif  // COMMON_HOST_EDIT_H_
