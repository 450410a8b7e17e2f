#ifndef COMMON_HOST_BUNDLE_H_
#define COMMON_HOST_BUNDLE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/archive.h"
#include "common/host/bundle_files.h"
#include "common/host/commands.h"
#include "common/host/host.h"
#include "galen/v1/incident.pb.h"

namespace galen::host {

// The captured data of one view of a node, as read from its YAML files.
struct CapturedView {
  bool captured = false;  // the view's directory exists
  std::vector<CapturedCommand> commands;
  std::vector<std::string> absent_paths;  // sorted
};

// The captured data of a node.
struct CapturedNode {
  CapturedView host;
  CapturedView job;
  // Unset: not captured.
  std::optional<std::map<std::string, std::string>> environment;
};

// A support bundle (docs/bundle.md). All its content is untrusted: sizes are bounded, and no file
// outside of it is opened. Immutable and thread-safe.
class Bundle : public std::enable_shared_from_this<Bundle> {
 public:
  // Opens a directory, or a .tar.gz, .tgz, .tar.zst, .tar or .zip of one, which is unpacked into a
  // temporary directory that lives as long as the bundle and its hosts.
  //
  // NOT_FOUND no such file, or it has no bundle.yaml or incident.yaml; INVALID_ARGUMENT one of its
  // files is invalid ("file:line: what; remedy"), or has another format version; PERMISSION_DENIED
  // a link leads out of the bundle; RESOURCE_EXHAUSTED it is too large.
  //
  // `remember`: see BundleFiles::Remember(). Opening always reads the files.
  static absl::StatusOr<std::shared_ptr<const Bundle>> Open(const std::string& path,
                                                            bool remember = false);

  // The reported incident. Its `bundle` is root(); the paths of its logs are relative to logs/.
  const v1::Incident& incident() const { return incident_; }

  // Names of the nodes, in the order of bundle.yaml. A bundle with only logs has the machines of
  // these logs, or kReportedMachine.
  const std::vector<std::string>& nodes() const { return nodes_; }

  // Absolute path of the directory with bundle.yaml.
  const std::string& root() const { return files_.root(); }

  // Remarks for the reader: fields that were not read, nodes without a directory.
  const std::vector<std::string>& remarks() const { return remarks_; }

  // Absolute path of a log below logs/. INVALID_ARGUMENT the path is absolute or has "..";
  // PERMISSION_DENIED a link leads out of the bundle; NOT_FOUND.
  absl::StatusOr<std::string> LogPath(absl::string_view relative) const;

  // The node as a host that serves the captured data. NOT_FOUND: it is not in the bundle.
  absl::StatusOr<std::unique_ptr<Host>> OpenNode(absl::string_view node) const;

 private:
  explicit Bundle(BundleFiles files) : files_(std::move(files)) {}

  absl::Status Load();
  absl::Status LoadNodes();
  void NameNodesByLogs();
  absl::StatusOr<CapturedNode> LoadNode(const std::string& node) const;

  BundleFiles files_;
  std::optional<TemporaryDirectory> unpacked_;
  v1::Incident incident_;
  std::vector<std::string> nodes_;
  std::map<std::string, CapturedNode, std::less<>> captured_;
  std::vector<std::string> remarks_;
};

}  // namespace galen::host

#endif  // COMMON_HOST_BUNDLE_H_
