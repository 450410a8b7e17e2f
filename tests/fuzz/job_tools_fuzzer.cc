#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "services/node/checks/job/gpu_ranks.h"
#include "services/node/checks/job/libraries.h"
#include "services/node/checks/job/limits.h"
#include "services/node/checks/job/nccl_env.h"
#include "services/node/checks/job/versions.h"
#include "services/node/checks/job_process_tree.h"
#include "services/node/checks/rdma/hca_list.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void DeviceList(absl::string_view text) {
  const node::DeviceList list = node::ParseDeviceList(text);
  for (const auto& entry : list.entries) Use(node::Names(entry, list.exact, "mlx5_0"));
}

// An environment as lines NAME=value, compared with a machine with two adapters.
void NcclEnv(absl::string_view text) {
  node::NetworkDevices devices;
  devices.ports.emplace();
  for (const char* const name : {"mlx5_0", "mlx5_bond_0"}) {
    node::RdmaPort port;
    port.hca = name;
    port.link_layer = name[5] == '0' ? "InfiniBand" : "Ethernet";
    port.state = "ACTIVE";
    devices.ports->push_back(port);
  }
  devices.interfaces = {{.name = "lo", .loopback = true}, {.name = "eth0", .has_address = true}};
  Use(node::JudgeNcclEnv(node::ParseNcclConf(text), devices));
}

void NcclConf(absl::string_view text) { Use(node::ParseNcclConf(text)); }

void IpAddr(absl::string_view text) { Use(node::ParseIpAddr(text)); }

void IpAddrLines(absl::string_view text) { Use(node::ParseIpAddrLines(text)); }

void PipList(absl::string_view text) { Use(node::ParsePipList(text)); }

void CollectEnv(absl::string_view text) { Use(node::ParseCollectEnv(text)); }

void Newer(absl::string_view text) {
  const std::size_t half = text.size() / 2;
  Use(node::IsNewer(text.substr(0, half), text.substr(half)));
}

void Ldconfig(absl::string_view text) { Use(node::ParseLdconfig(text)); }

void Maps(absl::string_view text) {
  for (const std::string& path : node::MappedLibraries(text)) Use(node::DriverVersionOf(path));
}

void Module(absl::string_view text) { Use(node::KernelModuleVersion(text)); }

void Limits(absl::string_view text) { Use(node::ParseLimits(text)); }

void GpuRanks(absl::string_view text) {
  const auto on_gpu = node::ComputeProcesses(text);
  if (!on_gpu.has_value()) return;
  const auto ranks = node::RanksOnGpus(*on_gpu, node::ParseProcesses(text));
  Use(node::AllOnFirstVisible(ranks, text));
}

void ListedDevices(absl::string_view text) { Use(node::ListedDevices(text)); }

void ProcessStatus(absl::string_view text) { Use(node::ParseProcessStatus(text)); }

// A table with the job's process 17, as the tree of a job: each process that it holds is one of
// its members.
void ProcessTable(absl::string_view text) {
  const std::vector<node::ProcessEntry> table = node::ParseProcessTable(text);
  const node::JobProcessTree tree(table, {17}, {"slurmstepd", "containerd-shim"});
  const std::vector<std::int64_t> members = tree.Members();
  for (const node::ProcessEntry& process : table) {
    const bool member = std::binary_search(members.begin(), members.end(), process.pid);
    if (member != tree.Holds(process.pid).value_or(false)) __builtin_trap();
  }
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = {
      {"device_list", DeviceList},
      {"nccl_env", NcclEnv},
      {"nccl_conf", NcclConf},
      {"ip_addr", IpAddr},
      {"ip_addr_lines", IpAddrLines},
      {"pip_list", PipList},
      {"collect_env", CollectEnv},
      {"newer", Newer},
      {"ldconfig", Ldconfig},
      {"maps", Maps},
      {"module", Module},
      {"limits", Limits},
      {"gpu_ranks", GpuRanks},
      {"listed_devices", ListedDevices},
      {"process_status", ProcessStatus},
      {"process_table", ProcessTable},
  };
  return kParsers;
}

}  // namespace galen::fuzz
