#include "services/node/checks/rdma/settings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/rdma/gid_table.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"
#include "services/node/checks/system/kernel_events.h"

namespace galen::node {
namespace {

std::optional<std::int64_t> Configured(const host::Host& host, const char* variable) {
  const auto environment = host.JobEnvironment();
  if (!environment.ok()) return std::nullopt;
  const auto it = environment->find(variable);
  std::int64_t value = 0;
  if (it == environment->end() || !absl::SimpleAtoi(it->second, &value)) return std::nullopt;
  return value;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGid(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  const std::set<std::string> fabric = FabricHcas(ports);
  const std::optional<std::int64_t> configured = Configured(host, "NCCL_IB_GID_INDEX");
  CheckOutput output;
  std::vector<std::string> wrong;
  bool ethernet = false;
  for (const RdmaPort& port : ports) {
    if (port.link_layer != "Ethernet" || !fabric.contains(port.hca)) continue;
    ethernet = true;
    const std::string device = DeviceOf(port);
    const auto [gids, types] = ReadGidTable(host, port);
    const std::optional<int> index = RoceV2Ipv4Index({gids, types});
    output.findings.push_back(index.has_value()
                                  ? IntFinding("rocev2_ipv4_index", node, device, *index)
                                  : UnknownFinding("rocev2_ipv4_index", node, device));
    if (!configured.has_value()) continue;
    output.findings.push_back(IntFinding("configured_index", node, device, *configured));
    const auto gid = gids.find(static_cast<int>(*configured));
    const auto type = types.find(static_cast<int>(*configured));
    if (gids.empty() || types.empty()) {
      output.findings.push_back(UnknownFinding("configured_index_valid", node, device));
      continue;
    }
    const bool valid = gid != gids.end() && type != types.end() && type->second == "RoCE v2" &&
                       IsIpv4Gid(gid->second);
    output.findings.push_back(BoolFinding("configured_index_valid", node, device, valid));
    if (!valid) {
      wrong.push_back(absl::StrCat("index ", *configured, " of ", port.hca,
                                   " is no RoCE v2 address of IPv4",
                                   index.has_value() ? absl::StrCat("; ", *index, " is") : ""));
    }
  }
  if (!ethernet) return absl::NotFoundError("the compute fabric is not RoCE");
  output.message = !wrong.empty() ? absl::StrJoin(wrong, "; ")
                   : configured.has_value()
                       ? absl::StrCat("GID index ", *configured, " is a RoCE v2 address")
                       : "the job sets no GID index";
  return output;
}

absl::StatusOr<CheckOutput> CheckPkey(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  const std::int64_t configured = Configured(host, "NCCL_IB_PKEY").value_or(0);
  CheckOutput output;
  std::vector<std::string> wrong;
  for (const RdmaPort& port : ports) {
    if (port.link_layer != "InfiniBand") continue;
    const auto table = NumberedFiles(host, FolderOf(port) + "/pkeys");
    if (table.empty()) continue;
    const std::string device = DeviceOf(port);
    // Bit 15 is full membership; 0 is an empty place.
    std::optional<int> usable;
    std::optional<bool> full;
    for (const auto& [index, text] : table) {
      std::int64_t key = 0;
      if (!absl::SimpleHexAtoi(absl::StripPrefix(text, "0x"), &key)) continue;
      const bool member = (key & 0x8000) != 0;
      if (member && !usable.has_value()) usable = index;
      if (index == configured) full = member;
    }
    v1::Finding finding = usable.has_value() ? IntFinding("usable_index", node, device, *usable)
                                             : UnknownFinding("usable_index", node, device);
    output.findings.push_back(std::move(finding));
    output.findings.push_back(IntFinding("configured_index", node, device, configured));
    output.findings.push_back(full.has_value() ? BoolFinding("full_member", node, device, *full)
                                               : UnknownFinding("full_member", node, device));
    if (full.has_value() && !*full) {
      wrong.push_back(
          absl::StrCat(port.hca, " is no full member by the key at index ", configured,
                       usable.has_value() ? absl::StrCat(", but by that at ", *usable) : ""));
    }
  }
  if (output.findings.empty()) return absl::NotFoundError("no InfiniBand port has partition keys");
  output.message = wrong.empty() ? absl::StrCat("the key at index ", configured,
                                                " gives full membership on all ports")
                                 : absl::StrJoin(wrong, "; ");
  return output;
}

absl::StatusOr<CheckOutput> CheckRdmaPcie(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, {"lspci", "-vvv", "-nn"}));
  static const RE2 adapter(R"(^([0-9a-f:.]+) (?:Infiniband|Ethernet) controller.*\[15b3:)");
  static const RE2 link(R"(Lnk(Cap|Sta):.*Speed ([0-9.]+)GT/s[^,]*, Width x(\d+))");
  static const RE2 request(R"(MaxReadReq (\d+) bytes)");
  const std::map<std::string, std::string> names = DeviceNames(host);
  CheckOutput output;
  std::vector<std::string> wrong;
  std::string device;
  double cap_speed = 0;
  int cap_width = 0;
  for (const absl::string_view line : Lines(text)) {
    const re2::StringPiece piece(line.data(), line.size());
    if (!line.empty() && line[0] != '\t' && line[0] != ' ') {
      std::string address;
      device = RE2::PartialMatch(piece, adapter, &address) ? DeviceAt(names, NormalPci(address))
                                                           : std::string();
      cap_speed = 0;
      cap_width = 0;
      continue;
    }
    if (device.empty()) continue;
    std::string kind;
    double speed = 0;
    int width = 0;
    std::int64_t bytes = 0;
    if (RE2::PartialMatch(piece, request, &bytes)) {
      output.findings.push_back(IntFinding("max_read_request", node, device, bytes));
    }
    if (!RE2::PartialMatch(piece, link, &kind, &speed, &width)) continue;
    if (kind == "Cap") {
      cap_speed = speed;
      cap_width = width;
      continue;
    }
    const std::map<double, int> generations = {{2.5, 1}, {5, 2}, {8, 3}, {16, 4}, {32, 5}, {64, 6}};
    const auto generation = generations.find(speed);
    output.findings.push_back(generation != generations.end()
                                  ? IntFinding("gen_current", node, device, generation->second)
                                  : UnknownFinding("gen_current", node, device));
    output.findings.push_back(IntFinding("width_current", node, device, width));
    if (cap_width == 0) {
      output.findings.push_back(UnknownFinding("downgraded", node, device));
      continue;
    }
    const bool down = speed < cap_speed || width < cap_width;
    v1::Finding finding = BoolFinding("downgraded", node, device, down);
    finding.set_expected("false");
    output.findings.push_back(std::move(finding));
    if (down) {
      wrong.push_back(absl::StrCat(device, " runs at ", speed, " GT/s x", width, " of ", cap_speed,
                                   " GT/s x", cap_width));
    }
  }
  if (output.findings.empty()) {
    return absl::NotFoundError("lspci shows no adapter with the state of its link");
  }
  output.findings.push_back(UnknownFinding("outstanding_reads", node, ""));
  output.message = wrong.empty() ? "the PCIe links of all adapters run at full speed"
                                 : absl::StrJoin(wrong, "; ");
  return output;
}

absl::StatusOr<CheckOutput> CheckPeermem(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  GALEN_ASSIGN_OR_RETURN(const std::string text, host.ReadFile("/proc/modules"));
  bool peermem = false;
  bool nvidia = false;
  for (const absl::string_view line : Lines(text)) {
    const absl::string_view name = line.substr(0, line.find(' '));
    peermem |= name == "nvidia_peermem" || name == "nv_peer_mem";
    nvidia |= name == "nvidia";
  }
  if (!nvidia) return absl::NotFoundError("the nvidia module is not loaded");
  CheckOutput output;
  output.findings.push_back(BoolFinding("peermem_loaded", node, "", peermem));
  std::vector<std::string> peers;
  if (const auto paths = host.Glob("/sys/kernel/mm/memory_peers/*"); paths.ok()) {
    for (const std::string& path : *paths) peers.emplace_back(BaseName(path));
  }
  output.findings.push_back(peers.empty()
                                ? UnknownFinding("memory_peers", node, "")
                                : TextFinding("memory_peers", node, "", absl::StrJoin(peers, ",")));
  output.findings.push_back(UnknownFinding("dmabuf_possible", node, ""));
  output.message = peermem ? "nvidia_peermem is loaded" : "nvidia_peermem is not loaded";
  return output;
}

}  // namespace galen::node
