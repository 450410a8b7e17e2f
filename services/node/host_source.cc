#include "services/node/host_source.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/host/live_host.h"
#include "common/host/roots.h"

namespace galen::node {
namespace {

std::string OwnName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

// "gpu-07.cluster.local" and "GPU-07" are the same machine.
bool SameMachine(const std::string& a, const std::string& b) {
  const auto first_part = [](const std::string& name) {
    return absl::AsciiStrToLower(name.substr(0, name.find('.')));
  };
  return first_part(a) == first_part(b);
}

// The process that a prolog wrote down; nothing while there is no job.
absl::StatusOr<std::optional<pid_t>> JobPid(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  absl::StripAsciiWhitespace(&line);
  if (line.empty()) return std::nullopt;
  std::int32_t pid = 0;
  if (!absl::SimpleAtoi(line, &pid) || pid <= 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": holds no number of a process"));
  }
  return pid;
}

}  // namespace

LocalHosts::LocalHosts(Options options) : options_(std::move(options)) {
  if (options_.name.empty()) options_.name = OwnName();
  stuck_reads_ = std::make_shared<host::StuckReads>(options_.max_stuck_reads);
}

absl::StatusOr<std::shared_ptr<const host::Host>> LocalHosts::Open(
    const std::string& bundle, const std::string& node,
    std::shared_ptr<const Cancellation> cancelled) const {
  if (bundle.empty()) {
    if (!node.empty() && node != "localhost" && !SameMachine(node, options_.name)) {
      return absl::NotFoundError(absl::StrCat(node, ": this node executor runs on ", options_.name,
                                              "; ask the one on that node"));
    }
    host::LiveHost::Options machine;
    machine.name = node.empty() ? options_.name : node;
    machine.cancelled = std::move(cancelled);
    machine.read_time = options_.read_time;
    machine.stuck_reads = stuck_reads_;
    GALEN_ASSIGN_OR_RETURN(machine.job_pid, JobPid(options_.job_pid_file));
    for (const std::string& path : options_.job_logs) {
      machine.logs.push_back({.name = path, .path = path, .node = "", .rank = {}, .kind = "job"});
    }
    return std::make_shared<host::LiveHost>(std::move(machine));
  }
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Bundle> opened, OpenBundle(bundle));
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<host::Host> opened_node, opened->OpenNode(node));
  return std::shared_ptr<const host::Host>(std::move(opened_node));
}

absl::StatusOr<std::shared_ptr<const host::Bundle>> LocalHosts::OpenBundle(
    const std::string& bundle) const {
  if (options_.bundle_roots.empty() && !options_.bundles_anywhere) {
    return absl::PermissionDeniedError(
        "bundle: this node executor opens none; start it with --bundle_root");
  }
  GALEN_ASSIGN_OR_RETURN(const std::string path,
                         host::ResolveWithin(bundle, options_.bundle_roots, "--bundle_root"));
  return bundles_.Open(path);
}

}  // namespace galen::node
