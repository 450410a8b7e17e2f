#include "common/host/bundle.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/host/bundle_host.h"
#include "common/host/incident_yaml.h"
#include "common/host/manifest.h"
#include "common/host/node_name.h"
#include "common/yaml/yaml.h"

namespace galen::host {
namespace {

// One byte more than ParseYaml accepts, so that it reports a file that is too large.
constexpr std::size_t kMaxYaml = (std::size_t{16} << 20) + 1;
constexpr std::size_t kMaxAbsentList = std::size_t{16} << 20;

// The content of a file; nothing: the file is missing.
absl::StatusOr<std::optional<std::string>> ReadIfThere(const BundleFiles& files,
                                                       absl::string_view path, std::size_t limit) {
  absl::StatusOr<std::string> text = files.Read(path, limit);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (!text.ok()) return text.status();
  return *std::move(text);
}

absl::StatusOr<bool> IsThere(const BundleFiles& files, absl::string_view path) {
  const absl::Status found = files.Resolve(path).status();
  if (absl::IsNotFound(found)) return false;
  GALEN_RETURN_IF_ERROR(found);
  return true;
}

absl::StatusOr<CapturedView> LoadView(const BundleFiles& files, const std::string& directory) {
  CapturedView view;
  GALEN_ASSIGN_OR_RETURN(view.captured, IsThere(files, directory));
  if (!view.captured) return view;
  const std::string list = absl::StrCat(directory, "/commands.yaml");
  GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> text, ReadIfThere(files, list, kMaxYaml));
  if (text.has_value()) {
    GALEN_ASSIGN_OR_RETURN(view.commands, ParseCommands(*text, list));
  }
  GALEN_ASSIGN_OR_RETURN(
      const std::optional<std::string> absent,
      ReadIfThere(files, absl::StrCat(directory, "/rootfs/.absent"), kMaxAbsentList));
  if (absent.has_value()) {
    for (absl::string_view line : absl::StrSplit(*absent, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty()) view.absent_paths.emplace_back(line);
    }
    std::sort(view.absent_paths.begin(), view.absent_paths.end());
  }
  return view;
}

// The root of an archive may be the bundle, or have one directory that is the bundle.
absl::StatusOr<std::string> TopOf(const std::string& directory) {
  GALEN_ASSIGN_OR_RETURN(const BundleFiles files, BundleFiles::Open(directory));
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(""));
  if (names.size() != 1) return directory;
  struct stat info;
  const std::string only = absl::StrCat(directory, "/", names.front());
  return lstat(only.c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? only : directory;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Bundle>> Bundle::Open(const std::string& path, bool remember) {
  std::optional<TemporaryDirectory> unpacked;
  std::string directory = path;
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    GALEN_ASSIGN_OR_RETURN(unpacked, TemporaryDirectory::Create());
    GALEN_RETURN_IF_ERROR(Unpack(path, unpacked->path(), ArchiveLimits{}));
    GALEN_ASSIGN_OR_RETURN(directory, TopOf(unpacked->path()));
  }
  GALEN_ASSIGN_OR_RETURN(BundleFiles files, BundleFiles::Open(directory));
  const std::shared_ptr<Bundle> bundle(new Bundle(std::move(files)));
  bundle->unpacked_ = std::move(unpacked);
  if (const absl::Status loaded = bundle->Load(); !loaded.ok()) {
    return absl::Status(loaded.code(),
                        absl::StrCat("bundle ", CleanText(path, 256), ": ", loaded.message()));
  }
  if (remember) bundle->files_.Remember();
  return std::shared_ptr<const Bundle>(bundle);
}

absl::Status Bundle::Load() {
  GALEN_RETURN_IF_ERROR(LoadNodes());
  GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                         ReadIfThere(files_, "incident.yaml", kMaxYaml));
  if (!text.has_value()) {
    return absl::NotFoundError(
        "incident.yaml is missing; write one with at least \"description:\" (docs/bundle.md)");
  }
  GALEN_ASSIGN_OR_RETURN(incident_, ParseIncident(*text, "incident.yaml", remarks_));
  incident_.set_bundle(root());
  if (nodes_.empty()) NameNodesByLogs();
  std::vector<std::string> bare;
  for (const std::string& node : nodes_) {
    GALEN_ASSIGN_OR_RETURN(CapturedNode captured, LoadNode(node));
    if (!captured.host.captured && node != kReportedMachine) bare.push_back(node);
    captured_.emplace(node, std::move(captured));
  }
  if (!bare.empty()) {
    constexpr std::size_t kMostNamed = 4;
    const std::size_t more = bare.size() - std::min(bare.size(), kMostNamed);
    bare.resize(bare.size() - more);
    remarks_.push_back(absl::StrCat("nothing was captured of ", absl::StrJoin(bare, ", "),
                                    more > 0 ? absl::StrCat(" and ", more, " more nodes") : ""));
  }
  return absl::OkStatus();
}

absl::Status Bundle::LoadNodes() {
  GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                         ReadIfThere(files_, "bundle.yaml", kMaxYaml));
  if (!text.has_value()) {
    return absl::NotFoundError(
        "bundle.yaml is missing; give the directory that holds it, or make a bundle with "
        "\"galen bundle new\"");
  }
  GALEN_ASSIGN_OR_RETURN(Manifest manifest, ParseManifest(*text, "bundle.yaml"));
  if (manifest.nodes.has_value()) {
    nodes_ = *std::move(manifest.nodes);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> names = files_.List("nodes");
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  GALEN_RETURN_IF_ERROR(names.status());
  std::copy_if(names->begin(), names->end(), std::back_inserter(nodes_), IsNodeName);
  return absl::OkStatus();
}

// Names nodes by the logs: checks run on a node, and checks of logs need only its name.
void Bundle::NameNodesByLogs() {
  std::set<std::string> named;
  for (const v1::LogSource& log : incident_.logs()) {
    if (IsNodeName(log.node())) named.insert(log.node());
  }
  if (named.empty() && !incident_.logs().empty()) named.emplace(kReportedMachine);
  nodes_.assign(named.begin(), named.end());
}

absl::StatusOr<CapturedNode> Bundle::LoadNode(const std::string& node) const {
  const std::string directory = absl::StrCat("nodes/", node);
  CapturedNode captured;
  GALEN_ASSIGN_OR_RETURN(captured.host, LoadView(files_, directory));
  GALEN_ASSIGN_OR_RETURN(captured.job, LoadView(files_, absl::StrCat(directory, "/job")));
  const std::string list = absl::StrCat(directory, "/job/env.yaml");
  GALEN_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                         ReadIfThere(files_, list, kMaxYaml));
  if (text.has_value()) {
    GALEN_ASSIGN_OR_RETURN(const Yaml document, ParseYaml(*text, list));
    GALEN_ASSIGN_OR_RETURN(captured.environment, YamlTextMap(document, list, "environment"));
  }
  return captured;
}

absl::StatusOr<std::string> Bundle::LogPath(absl::string_view relative) const {
  GALEN_RETURN_IF_ERROR(CheckRelative(relative));
  absl::StatusOr<std::string> path = files_.Resolve(absl::StrCat("logs/", relative));
  if (absl::IsNotFound(path.status())) {
    return absl::NotFoundError(
        absl::StrCat("logs/", CleanText(relative, 256),
                     ": is not in the bundle; add the file or take it out of incident.yaml"));
  }
  return path;
}

absl::StatusOr<std::unique_ptr<Host>> Bundle::OpenNode(absl::string_view node) const {
  const auto found = captured_.find(node);
  if (found == captured_.end()) {
    return absl::NotFoundError(absl::StrCat("node ", CleanText(node, 256),
                                            ": is not in the bundle, which has ",
                                            nodes_.empty() ? "none" : absl::StrJoin(nodes_, ", ")));
  }
  return std::make_unique<BundleHost>(found->first, files_, found->second, shared_from_this());
}

}  // namespace galen::host
