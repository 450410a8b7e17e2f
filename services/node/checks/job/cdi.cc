#include "services/node/checks/job/cdi.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/job/libraries.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/version_order.h"

namespace galen::node {
namespace {

constexpr std::size_t kMaxPaths = 10'000;

// Names in a folder that was listed; nothing where nobody listed it.
std::optional<std::set<std::string>> Listing(const host::Host& host, const std::string& folder) {
  const auto text = Output(host, {"ls", "-1", folder});
  if (!text.ok()) return std::nullopt;
  std::set<std::string> names;
  for (const absl::string_view line : Lines(*text)) names.emplace(line);
  return names;
}

// Whether files exist; asks for each folder once.
class Files {
 public:
  explicit Files(const host::Host& host) : host_(host) {}

  std::optional<bool> Exists(const std::string& path) {
    const auto found = host_.Glob(path);
    if (found.ok()) return true;
    if (IsAbsent(found.status())) return false;
    const std::string folder = path.substr(0, path.rfind('/'));
    auto known = folders_.find(folder);
    if (known == folders_.end()) known = folders_.emplace(folder, Listing(host_, folder)).first;
    if (!known->second.has_value()) return std::nullopt;
    return known->second->contains(std::string(BaseName(path)));
  }

 private:
  const host::Host& host_;
  std::map<std::string, std::optional<std::set<std::string>>> folders_;
};

std::string DriverVersion(const host::Host& host) {
  if (const auto text = host.ReadFile("/proc/driver/nvidia/version"); text.ok()) {
    if (std::string version = KernelModuleVersion(*text); !version.empty()) return version;
  }
  return FirstLine(host, "/sys/module/nvidia/version").value_or("");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseCdiPaths(absl::string_view text) {
  if (!absl::StrContains(text, "cdiVersion")) {
    return absl::DataLossError("not a CDI specification: it has no cdiVersion");
  }
  // Within "containerEdits" only these keys hold paths of the host; containerPath is the other
  // side.
  static const RE2 key(R"re((?:^|[\s,{"-])(?:hostPath|path)"?\s*:\s*"?(/[^\s",}]+))re");
  std::set<std::string> paths;
  for (const absl::string_view line : Lines(text)) {
    re2::StringPiece rest = Piece(line);
    std::string path;
    while (RE2::FindAndConsume(&rest, key, &path)) {
      if (paths.size() < kMaxPaths) paths.insert(CleanText(path, 1024));
    }
  }
  return std::vector<std::string>(paths.begin(), paths.end());
}

std::string DockerServerVersion(absl::string_view text) {
  // The client's release stands first, and under the same word.
  const std::size_t server = text.find("Server:");
  if (server == absl::string_view::npos) return "";
  static const RE2 version(R"(Version:\s+v?(\d+(?:\.\d+)+))");
  std::string found;
  const absl::string_view rest = text.substr(server, 4096);
  RE2::PartialMatch(re2::StringPiece(rest.data(), rest.size()), version, &found);
  return found;
}

absl::StatusOr<CheckOutput> CheckCdi(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  std::set<std::string> paths;
  absl::Status why;
  bool read = false;
  for (const char* file : {"/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"}) {
    const auto text = host.ReadFile(file);
    if (!text.ok()) {
      if (why.ok() || IsAbsent(why)) why = text.status();
      continue;
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> found, ParseCdiPaths(*text));
    paths.insert(found.begin(), found.end());
    read = true;
  }
  if (!read) return why;
  Files files(host);
  const std::string driver = DriverVersion(host);
  std::int64_t missing = 0;
  std::int64_t told = 0;
  std::set<std::string> versions;
  CheckOutput output;
  for (const std::string& path : paths) {
    if (std::string version = DriverVersionOf(path); !version.empty()) {
      versions.insert(std::move(version));
    }
    const std::optional<bool> exists = files.Exists(path);
    if (!exists.has_value()) continue;
    ++told;
    if (*exists) continue;
    ++missing;
    absl::StrAppend(&output.excerpt, "missing: ", path, "\n");
  }
  output.findings.push_back(told > 0 ? IntFinding("missing_paths", node, "", missing)
                                     : UnknownFinding("missing_paths", node, ""));
  std::optional<bool> older;
  if (!driver.empty() && !versions.empty()) {
    older = false;
    for (const std::string& version : versions) older = *older || version != driver;
  }
  output.findings.push_back(older.has_value()
                                ? BoolFinding("spec_older_than_driver", node, "", *older)
                                : UnknownFinding("spec_older_than_driver", node, ""));
  output.message = absl::StrCat(
      "the CDI specification names ", paths.size(), " paths, of ", told, " that could be told ",
      missing, " are missing",
      older.value_or(false)
          ? absl::StrCat("; it is for driver ", *versions.begin(), ", the driver is ", driver)
          : "");
  return output;
}

absl::StatusOr<CheckOutput> CheckContainerSecurity(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "container.security"));
  const auto status = host.ReadFile("/proc/self/status", host::View::kJob);
  const auto docker = Output(host, {"docker", "version"});
  std::string version = docker.ok() ? DockerServerVersion(*docker) : "";
  // 0: off, 1: strict, 2: a filter.
  std::optional<std::int64_t> mode;
  if (status.ok()) {
    for (absl::string_view line : Lines(*status)) {
      if (absl::ConsumePrefix(&line, "Seccomp:")) mode = LeadingInt(line);
    }
  }
  if (version.empty() && !mode.has_value()) {
    if (!docker.ok() && !IsAbsent(docker.status())) return docker.status();
    if (!status.ok()) return status.status();
    return absl::NotFoundError(
        "/proc/self/status names no Seccomp mode, and no Docker engine tells its version");
  }
  std::optional<bool> denied;
  if (mode.has_value() && *mode == 0) {
    denied = false;
  } else if (!version.empty()) {
    const std::vector<std::string> since = data.Texts("clone3_allowed_since");
    if (!since.empty()) {
      const bool older = OrderVersions(version, since.front()) < 0;
      // An old engine refuses it only where its filter is in force.
      if (!older || mode.value_or(0) == 2) denied = older;
    }
  }
  CheckOutput output;
  output.findings.push_back(version.empty() ? UnknownFinding("engine_version", node, "")
                                            : TextFinding("engine_version", node, "", version));
  output.findings.push_back(denied.has_value() ? BoolFinding("clone3_denied", node, "", *denied)
                                               : UnknownFinding("clone3_denied", node, ""));
  output.message =
      absl::StrCat(version.empty() ? "the container engine's release is not known"
                                   : absl::StrCat("container engine ", version),
                   !mode.has_value() ? ""
                   : *mode == 0      ? ", no system call filter on the job"
                                     : ", the job's system calls are filtered",
                   denied.value_or(false) ? "; the engine's filter refuses clone3" : "");
  return output;
}

}  // namespace galen::node
