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
#include "services/node/checks/check_data.h"
#include "services/node/checks/rdma/gid_table.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/nccl_release.h"
#include "services/node/checks/system/version_order.h"

namespace galen::node {
namespace {

// NCCL's default since it chooses the GID index itself; so is any other negative one.
constexpr std::int64_t kNoIndex = -1;

std::optional<std::int64_t> Configured(const host::Host& host, const char* variable) {
  const auto environment = host.JobEnvironment();
  if (!environment.ok()) return std::nullopt;
  const auto it = environment->find(variable);
  std::int64_t value = 0;
  if (it == environment->end() || !absl::SimpleAtoi(it->second, &value)) return std::nullopt;
  return value;
}

// The GID index that the job sets for NCCL, in its environment or in NCCL's own file.
std::optional<std::int64_t> ConfiguredGidIndex(const host::Host& host) {
  if (const auto index = Configured(host, "NCCL_IB_GID_INDEX"); index.has_value()) return index;
  for (const host::View view : {host::View::kJob, host::View::kHost}) {
    const auto text = host.ReadFile("/etc/nccl.conf", view);
    if (!text.ok()) continue;
    for (absl::string_view line : Lines(*text)) {
      std::int64_t value = 0;
      if (absl::ConsumePrefix(&line, "NCCL_IB_GID_INDEX=") && absl::SimpleAtoi(line, &value)) {
        return value;
      }
    }
  }
  return std::nullopt;
}

// Whether packets from that address of RoCE v2 are routed: those of IPv4 are; with `ipv6`, where
// the job chose that family, those that are not link-local are, and without it who knows.
std::optional<bool> IndexRoutable(const GidTable& table, std::int64_t index, bool ipv6) {
  if (table.gids.empty() || table.types.empty()) return std::nullopt;
  const auto gid = table.gids.find(static_cast<int>(index));
  const auto type = table.types.find(static_cast<int>(index));
  if (gid == table.gids.end() || type == table.types.end() || type->second != "RoCE v2") {
    return false;
  }
  if (IsIpv4Gid(gid->second)) return true;
  if (!IsGlobalIpv6Gid(gid->second)) return false;
  return ipv6 ? std::optional<bool>(true) : std::nullopt;
}

// The kind of address at an index; "" if the table is unknown. Both ends of a connection must have
// the same kind.
std::string KindOfAddress(const GidTable& table, std::int64_t index) {
  if (table.gids.empty() || table.types.empty()) return "";
  const auto gid = table.gids.find(static_cast<int>(index));
  const auto type = table.types.find(static_cast<int>(index));
  if (gid == table.gids.end() || type == table.types.end()) return "none";
  return absl::StrCat(type->second, IsIpv4Gid(gid->second)         ? " IPv4"
                                    : IsGlobalIpv6Gid(gid->second) ? " IPv6"
                                                                   : " link-local");
}

// Whether the index that NCCL takes by itself is routed: index 0 in releases before
// `dynamic_since`, one of the family that the job chose since. Nothing: not known.
std::optional<bool> DefaultIndexRoutable(const GidTable& table, absl::string_view release,
                                         absl::string_view dynamic_since, bool ipv6) {
  if (release.empty() || dynamic_since.empty() || table.gids.empty() || table.types.empty()) {
    return std::nullopt;
  }
  if (OrderVersions(release, dynamic_since) < 0) return IndexRoutable(table, 0, ipv6);
  if (RoceV2Ipv4Index(table).has_value()) return true;
  if (!ipv6) return false;
  return std::any_of(table.gids.begin(), table.gids.end(), [&](const auto& entry) {
    return IndexRoutable(table, entry.first, ipv6).value_or(false);
  });
}

// Whether the job has NCCL speak IPv6.
bool ChoosesIpv6(const host::Host& host) {
  const auto environment = host.JobEnvironment();
  if (!environment.ok()) return false;
  const auto it = environment->find("NCCL_IB_ADDR_FAMILY");
  return it != environment->end() && it->second == "AF_INET6";
}

// DMA-BUF hands GPU memory to an adapter with NVIDIA's open kernel modules only, and since a
// release of the kernel; distributions carry it back into older ones.
std::optional<bool> DmaBufPossible(const host::Host& host, const std::vector<std::string>& since) {
  const auto driver = host.ReadFile("/proc/driver/nvidia/version");
  if (!driver.ok() || !absl::StrContains(*driver, "Kernel Module")) return std::nullopt;
  if (!absl::StrContains(*driver, "Open Kernel Module")) return false;
  static const RE2 release(R"(^Linux \S+ (\d+\.\d+))");
  std::string kernel;
  const auto uname = Output(host, {"uname", "-a"});
  if (since.empty() || !uname.ok() || !RE2::PartialMatch(*uname, release, &kernel)) {
    return std::nullopt;
  }
  if (OrderVersions(kernel, since.front()) < 0) return std::nullopt;
  return true;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGid(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  const std::set<std::string> fabric = FabricPorts(ports);
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.gid"));
  const std::vector<std::string> dynamic_since = data.Texts("dynamic_since");
  const bool ipv6 = ChoosesIpv6(host);
  std::int64_t configured = ConfiguredGidIndex(host).value_or(kNoIndex);
  NcclRelease nccl;
  // The job's NCCL release matters only if nothing sets the index, and finding it costs reading the
  // logs.
  if (configured < 0 && std::any_of(ports.begin(), ports.end(), [](const RdmaPort& port) {
        return port.link_layer == "Ethernet";
      })) {
    nccl = ReadNcclRelease(context);
    std::int64_t said = 0;
    if (absl::SimpleAtoi(nccl.gid_index, &said)) configured = said;
  }
  // Without the job's variables it may set one that no log shows.
  const bool unset = configured < 0 && host.JobEnvironment().ok();
  CheckOutput output;
  std::vector<std::string> wrong;
  std::vector<std::string> unroutable;
  bool ethernet = false;
  bool all_valid = true;
  std::set<std::string> kinds;
  for (const RdmaPort& port : ports) {
    if (port.link_layer != "Ethernet" || !fabric.contains(DeviceOf(port))) continue;
    ethernet = true;
    const std::string device = DeviceOf(port);
    const auto [gids, types] = ReadGidTable(host, port);
    const std::optional<int> index = RoceV2Ipv4Index({gids, types});
    output.findings.push_back(index.has_value()
                                  ? IntFinding("rocev2_ipv4_index", node, device, *index)
                                  : UnknownFinding("rocev2_ipv4_index", node, device));
    if (configured < 0) {
      const std::optional<bool> routable =
          unset && !dynamic_since.empty()
              ? DefaultIndexRoutable({gids, types}, nccl.version, dynamic_since.front(), ipv6)
              : std::nullopt;
      output.findings.push_back(routable.has_value()
                                    ? BoolFinding("default_index_routable", node, device, *routable)
                                    : UnknownFinding("default_index_routable", node, device));
      if (routable.has_value() && !*routable) unroutable.push_back(port.hca);
      continue;
    }
    output.findings.push_back(IntFinding("configured_index", node, device, configured));
    if (std::string kind = KindOfAddress({gids, types}, configured); !kind.empty()) {
      kinds.insert(std::move(kind));
    }
    const std::optional<bool> valid = IndexRoutable({gids, types}, configured, ipv6);
    output.findings.push_back(valid.has_value()
                                  ? BoolFinding("configured_index_valid", node, device, *valid)
                                  : UnknownFinding("configured_index_valid", node, device));
    all_valid = all_valid && valid.value_or(false);
    if (!valid.value_or(true)) {
      wrong.push_back(absl::StrCat("index ", configured, " of ", port.hca,
                                   " is not a routable RoCE v2 address",
                                   index.has_value() ? absl::StrCat("; ", *index, " is") : ""));
    }
  }
  if (!ethernet) return absl::NotFoundError("the compute fabric is not RoCE");
  output.findings.push_back(
      kinds.empty() ? UnknownFinding("configured_address_kind", node, "")
                    : TextFinding("configured_address_kind", node, "", absl::StrJoin(kinds, ", ")));
  output.message =
      !wrong.empty() ? absl::StrJoin(wrong, "; ")
      : configured >= 0
          ? absl::StrCat("GID index ", configured, " is a RoCE v2 address",
                         all_valid ? "" : ", or is not known to be one that is routed")
      : !unroutable.empty()
          ? absl::StrCat("the job sets no GID index, and the one that NCCL ", nccl.version,
                         " takes is not routed on ", absl::StrJoin(unroutable, ", "))
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
          absl::StrCat(port.hca, " is not a full member by the key at index ", configured,
                       usable.has_value() ? absl::StrCat(", but by that at ", *usable) : ""));
    }
  }
  if (output.findings.empty()) return absl::NotFoundError("no InfiniBand port has partition keys");
  output.message = wrong.empty() ? absl::StrCat("the key at index ", configured,
                                                " gives full membership on all ports")
                                 : absl::StrJoin(wrong, "; ");
  return output;
}

absl::StatusOr<CheckOutput> CheckPeermem(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, host.ReadFile("/proc/modules"));
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.peermem"));
  const std::vector<std::string> since = data.Texts("dmabuf_kernel_since");
  bool peermem = false;
  bool nvidia = false;
  for (const absl::string_view line : Lines(text)) {
    const absl::string_view name = line.substr(0, line.find(' '));
    peermem |= name == "nvidia_peermem" || name == "nv_peer_mem";
    nvidia |= name == "nvidia";
  }
  if (!nvidia) return absl::NotFoundError("the nvidia module is not loaded");
  // Without an adapter nobody misses the module; a loaded one is a fact on any machine.
  if (!peermem) GALEN_RETURN_IF_ERROR(ReadPorts(host).status());
  CheckOutput output;
  output.findings.push_back(BoolFinding("peermem_loaded", node, "", peermem));
  std::vector<std::string> peers;
  if (const auto paths = host.Glob("/sys/kernel/mm/memory_peers/*"); paths.ok()) {
    for (const std::string& path : *paths) peers.emplace_back(BaseName(path));
  }
  output.findings.push_back(peers.empty()
                                ? UnknownFinding("memory_peers", node, "")
                                : TextFinding("memory_peers", node, "", absl::StrJoin(peers, ",")));
  const std::optional<bool> dmabuf = DmaBufPossible(host, since);
  output.findings.push_back(dmabuf.has_value() ? BoolFinding("dmabuf_possible", node, "", *dmabuf)
                                               : UnknownFinding("dmabuf_possible", node, ""));
  output.message =
      absl::StrCat(peermem ? "nvidia_peermem is loaded" : "nvidia_peermem is not loaded",
                   !dmabuf.has_value() ? ""
                   : *dmabuf           ? ", DMA-BUF is possible"
                                       : ", DMA-BUF is not possible");
  return output;
}

}  // namespace galen::node
