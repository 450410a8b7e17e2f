// container.devices: the device nodes that a job sees, and whether it may open them.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "re2/re2.h"
#include "services/node/checks/job/limits.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/services.h"

namespace galen::node {
namespace {

struct DeviceNodes {
  int nvidia = 0;
  bool control = false;
  bool kfd = false;
  bool dri = false;
  bool infiniband = false;
  bool caps_channels = false;
  // Those of GPUs that not everybody may open.
  struct Closed {
    std::string mode;
    std::string owner;
    std::string group;
  };
  std::vector<Closed> closed;
};

// The user that the job runs as, from `id`.
struct JobUser {
  std::string name;
  bool root = false;
  std::set<std::string> groups;  // names and numbers
};

// "uid=1000(mk) gid=1000(mk) groups=1000(mk),44(video)", or "groups=(mk),(video)" of `groups`.
std::optional<JobUser> ReadJobUser(const host::Host& host) {
  const auto text = Output(host, {"id"}, host::View::kJob);
  if (!text.ok()) return std::nullopt;
  static const RE2 user(R"(\buid=(\d+)(?:\(([^)]*)\))?)");
  static const RE2 main_group(R"(\bgid=(\d+)(?:\(([^)]*)\))?)");
  static const RE2 group(R"((\d*)(?:\(([^)]*)\))?(?:,|\s|$))");
  JobUser found;
  std::string number;
  std::string name;
  if (RE2::PartialMatch(*text, user, &number, &found.name)) found.root = number == "0";
  const auto add = [&] {
    if (!number.empty()) found.groups.insert(number);
    if (!name.empty()) found.groups.insert(name);
  };
  if (RE2::PartialMatch(*text, main_group, &number, &name)) add();
  const std::size_t list = text->find("groups=");
  if (list != std::string::npos) {
    re2::StringPiece rest(text->data() + list + 7, text->size() - list - 7);
    constexpr std::size_t kMostGroups = 100'000;
    while (!rest.empty() && found.groups.size() < kMostGroups &&
           RE2::Consume(&rest, group, &number, &name)) {
      if (number.empty() && name.empty()) break;
      add();
    }
  }
  if (found.groups.empty()) return std::nullopt;
  found.root = found.root || found.groups.contains("root");
  return found;
}

// Whether the user may not open a node of a GPU, since neither he nor one of his groups is named.
std::optional<bool> GroupMismatch(const DeviceNodes& nodes, const std::optional<JobUser>& user) {
  if (nodes.closed.empty()) return false;
  if (!user.has_value()) return std::nullopt;
  if (user->root) return false;
  return std::any_of(nodes.closed.begin(), nodes.closed.end(), [&](const auto& node) {
    const bool owns = node.owner == user->name && node.mode.substr(1, 2) == "rw";
    const bool shares = user->groups.contains(node.group) && node.mode.substr(4, 2) == "rw";
    return !owns && !shares;
  });
}

DeviceNodes ParseDev(absl::string_view listing) {
  DeviceNodes nodes;
  for (const absl::string_view line : Lines(listing)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() < 9) continue;
    const absl::string_view name = words[0][0] == 'c' && words.size() > 9 ? words[9] : words[8];
    absl::string_view number = name;
    const bool gpu = absl::ConsumePrefix(&number, "nvidia") && !number.empty() &&
                     std::all_of(number.begin(), number.end(), [](char c) {
                       return absl::ascii_isdigit(static_cast<unsigned char>(c));
                     });
    nodes.nvidia += gpu;
    nodes.control |= name == "nvidiactl";
    nodes.kfd |= name == "kfd";
    nodes.dri |= name == "dri";
    nodes.infiniband |= name == "infiniband";
    nodes.caps_channels |= name == "nvidia-caps-imex-channels";
    if ((gpu || name == "nvidiactl" || name == "kfd") && words[0].size() >= 10 &&
        words[0].substr(7, 2) != "rw") {
      nodes.closed.push_back({std::string(words[0]), std::string(words[2]), std::string(words[3])});
    }
  }
  return nodes;
}

// Used when only the machine of a job was inspected: whether its user may open the device files
// that exist. The rest of a container's view is unknown. `why`: the reason why the job's own view
// is unknown.
absl::StatusOr<CheckOutput> RightsOnMachine(const host::Host& host,
                                            const std::optional<JobUser>& user,
                                            const absl::Status& why) {
  if (!user.has_value() || !absl::IsUnavailable(why)) return why;
  const auto listing = Output(host, {"ls", "-l", "/dev"});
  if (!listing.ok()) return why;
  const DeviceNodes nodes = ParseDev(*listing);
  const std::optional<bool> mismatch = GroupMismatch(nodes, user);
  if (nodes.nvidia == 0 && !nodes.kfd) return why;
  CheckOutput output;
  const std::string& node = host.name();
  for (const char* name : {"nvidia_nodes", "kfd_present", "dri_present", "rdma_nodes",
                           "open_denied", "imex_channel_present"}) {
    output.findings.push_back(UnknownFinding(name, node, ""));
  }
  output.findings.push_back(mismatch.has_value()
                                ? BoolFinding("group_mismatch", node, "", *mismatch)
                                : UnknownFinding("group_mismatch", node, ""));
  output.message = mismatch.value_or(false)
                       ? "owner, group and mode of the GPU's device nodes refuse the user"
                       : "the user may open the GPU's device nodes of the machine";
  for (const DeviceNodes::Closed& closed : nodes.closed) {
    absl::StrAppend(&output.excerpt, closed.mode, " ", closed.owner, " ", closed.group, "\n");
  }
  return output;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckContainerDevices(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const std::optional<JobUser> user = ReadJobUser(host);
  const auto listing = Output(host, {"ls", "-l", "/dev"}, host::View::kJob);
  if (!listing.ok()) return RightsOnMachine(host, user, listing.status());
  const DeviceNodes nodes = ParseDev(*listing);
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  const bool nvidia_host = host.ReadFile("/proc/driver/nvidia/version").ok();
  const auto modules = host.ReadFile("/proc/modules");
  const bool amd_host = modules.ok() && absl::StrContains(*modules, "amdgpu ");
  // A device that the host lacks is not missing in the job.
  add(nvidia_host || nodes.nvidia > 0 ? IntFinding("nvidia_nodes", node, "", nodes.nvidia)
                                      : UnknownFinding("nvidia_nodes", node, ""));
  const bool wants_amd = amd_host && !nvidia_host;
  add(wants_amd ? BoolFinding("kfd_present", node, "", nodes.kfd)
                : UnknownFinding("kfd_present", node, ""));
  add(wants_amd ? BoolFinding("dri_present", node, "", nodes.dri)
                : UnknownFinding("dri_present", node, ""));
  const bool rdma_host = host.Glob("/sys/class/infiniband/*/ports/*/state").ok();
  add(rdma_host || nodes.infiniband ? IntFinding("rdma_nodes", node, "", nodes.infiniband ? 1 : 0)
                                    : UnknownFinding("rdma_nodes", node, ""));
  std::optional<bool> denied;
  if (const auto smi = host.Run(std::vector<std::string>{"nvidia-smi", "-L"}, host::View::kJob);
      smi.ok()) {
    const std::string said = absl::StrCat(smi->out, smi->err);
    denied = smi->exit_code != 0 && (absl::StrContains(said, "Unknown Error") ||
                                     absl::StrContains(said, "Operation not permitted") ||
                                     absl::StrContains(said, "Insufficient Permissions"));
    output.excerpt = said;
  }
  add(denied.has_value() ? BoolFinding("open_denied", node, "", *denied)
                         : UnknownFinding("open_denied", node, ""));
  const auto devices = host.ReadFile("/proc/devices");
  const bool imex_host = devices.ok() && absl::StrContains(*devices, "nvidia-caps-imex-channels");
  // Every driver that knows IMEX registers it.
  add(nodes.caps_channels || (imex_host && UsesImex(host))
          ? BoolFinding("imex_channel_present", node, "", nodes.caps_channels)
          : UnknownFinding("imex_channel_present", node, ""));
  const std::optional<bool> mismatch = GroupMismatch(nodes, user);
  add(mismatch.has_value() ? BoolFinding("group_mismatch", node, "", *mismatch)
                           : UnknownFinding("group_mismatch", node, ""));
  output.message =
      absl::StrCat("the job has ", nodes.nvidia, " NVIDIA device nodes",
                   nodes.infiniband ? ", RDMA devices" : "", nodes.kfd ? ", /dev/kfd" : "",
                   denied.value_or(false) ? ", and may not open them" : "");
  return output;
}

}  // namespace galen::node
