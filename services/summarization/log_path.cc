#include "services/summarization/log_path.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle_files.h"
#include "common/host/commands.h"

namespace galen::summarization {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNodes = 10'000;
constexpr int kMostParts = 32;  // of a path
constexpr std::size_t kMostCommandBytes = std::size_t{4} << 20;

std::string Shown(absl::string_view path) { return CleanText(path, 512); }

// `path` without symbolic links, "." and "..", as far as it exists.
absl::StatusOr<std::string> Resolve(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("\"", Shown(path), "\": not a path"));
  }
  std::error_code error;
  std::string resolved = fs::weakly_canonical(path, error).string();
  if (error == std::errc::permission_denied) {
    return absl::PermissionDeniedError(absl::StrCat(Shown(path), ": ", error.message()));
  }
  if (error) return absl::InvalidArgumentError(absl::StrCat(Shown(path), ": ", error.message()));
  // A path that does not exist keeps its trailing slash.
  while (resolved.size() > 1 && resolved.back() == '/') resolved.pop_back();
  return resolved;
}

// Both resolved.
bool LiesIn(absl::string_view path, absl::string_view directory) {
  if (directory == "/") return true;
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

bool LiesInRoots(absl::string_view path, absl::Span<const std::string> roots) {
  return roots.empty() || std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
           const absl::StatusOr<std::string> resolved = Resolve(root);
           return resolved.ok() && LiesIn(path, *resolved);
         });
}

}  // namespace

absl::StatusOr<std::string> ResolveBundle(const std::string& bundle,
                                          absl::Span<const std::string> roots) {
  GALEN_ASSIGN_OR_RETURN(std::string resolved, Resolve(bundle));
  if (!LiesInRoots(resolved, roots)) {
    return absl::PermissionDeniedError(
        absl::StrCat("incident.bundle: ", Shown(bundle),
                     ": outside of the directories that this service may read (--log_root)"));
  }
  std::error_code error;
  const fs::file_status status = fs::status(resolved, error);
  if (!fs::exists(status)) {
    return absl::NotFoundError(absl::StrCat("incident.bundle: ", Shown(bundle), ": not there"));
  }
  if (!fs::is_directory(status)) {
    return absl::InvalidArgumentError(absl::StrCat("incident.bundle: ", Shown(bundle),
                                                   ": not a directory; unpack the bundle first"));
  }
  return resolved;
}

absl::StatusOr<std::string> ResolveLog(const std::string& path, const std::string& bundle,
                                       absl::Span<const std::string> roots) {
  const bool absolute = !path.empty() && path[0] == '/';
  if (!absolute && bundle.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("incident.logs: ", Shown(path),
                     ": relative, and there is no bundle; give the absolute path"));
  }
  GALEN_ASSIGN_OR_RETURN(std::string resolved,
                         Resolve(absolute ? path : absl::StrCat(bundle, "/logs/", path)));
  const bool in_bundle = !bundle.empty() && LiesIn(resolved, bundle);
  if (!in_bundle && !absolute) {
    return absl::PermissionDeniedError(
        absl::StrCat("incident.logs: ", Shown(path), ": leads out of the bundle"));
  }
  if (!in_bundle && !LiesInRoots(resolved, roots)) {
    return absl::PermissionDeniedError(
        absl::StrCat("incident.logs: ", Shown(path),
                     ": outside of the directories that this service may read (--log_root)"));
  }
  return resolved;
}

namespace {

// The last parts of an absolute path; fewer than `parts` if it has no more.
std::string LastParts(const std::string& path, int parts) {
  std::size_t begin = path.size();
  for (; parts > 0 && begin > 0; --parts) {
    const std::size_t slash = path.rfind('/', begin - 1);
    if (slash == std::string::npos) return path;
    begin = slash;
  }
  return path.substr(std::min(begin + 1, path.size()));
}

}  // namespace

std::vector<std::string> LogNames(
    const google::protobuf::RepeatedPtrField<galen::v1::LogSource>& logs) {
  std::vector<std::string> names(static_cast<std::size_t>(logs.size()));
  std::map<std::string, std::set<std::string>> paths;  // by name
  for (int parts = 1; parts <= kMostParts; ++parts) {
    bool ambiguous = false;
    std::map<std::string, std::set<std::string>> these;
    for (int i = 0; i < logs.size(); ++i) {
      const std::string& path = logs[i].path();
      std::string& name = names[static_cast<std::size_t>(i)];
      if (path.empty() || path[0] != '/') {
        name = path.empty() ? "log" : path;
      } else if (parts == 1 || paths[name].size() > 1) {
        name = LastParts(path, parts);
      }
      std::set<std::string>& of_name = these[name];
      of_name.insert(path);
      ambiguous |= of_name.size() > 1;
    }
    paths = std::move(these);
    if (!ambiguous) break;
  }
  for (std::string& name : names) name = Shown(name.empty() ? "log" : name);
  return names;
}

std::vector<std::string> NodesOfBundle(const std::string& bundle) {
  std::vector<std::string> nodes;
  std::error_code error;
  for (fs::directory_iterator at(bundle + "/nodes", error), end; !error && at != end;
       at.increment(error)) {
    if (nodes.size() == kMaxNodes) break;
    std::string name = at->path().filename().string();
    if (IsUtf8(name)) nodes.push_back(std::move(name));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

namespace {

// Programs that print a log of events. Programs that print a state are left to the checks: many
// healthy machines have a counter or a port that is down.
bool PrintsEvents(const std::vector<std::string>& argv) {
  const std::string& program = argv.front();
  if (program == "ipmitool") return std::find(argv.begin(), argv.end(), "sel") != argv.end();
  return program == "journalctl" || program == "ipmi-sel" || program == "racadm";
}

}  // namespace

std::vector<Capture> CapturesOf(const std::string& bundle, const std::string& node) {
  std::vector<Capture> captures;
  const absl::StatusOr<host::BundleFiles> files = host::BundleFiles::Open(bundle);
  if (!files.ok()) return captures;
  bool kernel_log = false;
  for (const absl::string_view view : {"", "job/"}) {
    const std::string folder = absl::StrCat("nodes/", node, "/", view);
    const absl::StatusOr<std::string> listed =
        files->Read(absl::StrCat(folder, "commands.yaml"), kMostCommandBytes);
    if (!listed.ok()) continue;
    const auto commands = host::ParseCommands(*listed, "commands.yaml");
    if (!commands.ok()) continue;
    for (const host::CapturedCommand& command : *commands) {
      if (command.stdout_file.empty()) continue;
      const bool is_kernel_log = command.argv.front() == "dmesg";
      if (!is_kernel_log && !PrintsEvents(command.argv)) continue;
      // The forms of the kernel log all hold the same messages.
      if (is_kernel_log && std::exchange(kernel_log, true)) continue;
      Capture& capture = captures.emplace_back();
      capture.name = absl::StrCat(is_kernel_log ? "dmesg" : absl::StrJoin(command.argv, " "),
                                  view.empty() ? "" : " in the job");
      capture.log.set_path(absl::StrCat("../", folder, command.stdout_file));
      capture.log.set_node(node);
      capture.log.set_kind(is_kernel_log ? galen::v1::LogSource::SYSTEM
                                         : galen::v1::LogSource::TOOL);
    }
  }
  return captures;
}

}  // namespace galen::summarization
