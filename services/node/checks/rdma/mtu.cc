#include "services/node/checks/rdma/mtu.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/node/checks/rdma/nic_model.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/verbs/endpoint.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {

std::map<std::string, std::int64_t> ParseActiveMtus(absl::string_view ibv_devinfo) {
  std::map<std::string, std::int64_t> mtus;
  std::string hca;
  std::int64_t port = 1;
  for (absl::string_view line : Lines(ibv_devinfo)) {
    line = absl::StripAsciiWhitespace(line);
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (field.first == "hca_id") hca = std::string(value);
    if (field.first == "port") port = LeadingInt(value).value_or(1);
    if (field.first != "active_mtu") continue;
    const auto mtu = LeadingInt(value);
    if (mtu.has_value()) mtus[absl::StrCat("nic:", hca, "/port:", port)] = *mtu;
  }
  return mtus;
}

absl::StatusOr<CheckOutput> CheckMtu(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto read = ReadPorts(host);
  const std::vector<RdmaPort> ports = read.ok() ? *read : std::vector<RdmaPort>();
  std::map<std::string, std::int64_t> mtus;
  const auto text = Output(host, {"ibv_devinfo", "-v"});
  if (text.ok()) {
    mtus = ParseActiveMtus(*text);
  } else if (!host.live() || ports.empty()) {
    return text.status();
  } else if (const auto library = VerbsLibrary::Load(); library.ok()) {
    // The tool is not installed; the library that it asks may be.
    for (const RdmaPort& port : ports) {
      const auto mtu = ActiveMtu(**library, port.hca, port.number);
      if (mtu.ok()) mtus[DeviceOf(port)] = *mtu;
    }
  }
  CheckOutput output;
  std::set<std::int64_t> seen;
  for (const auto& [device, mtu] : mtus) {
    v1::Finding finding = IntFinding("active_mtu", node, device, mtu);
    for (const RdmaPort& port : ports) {
      // On Ethernet it follows from the network device's, whose size is a site's choice; a port
      // that is down has none.
      if (DeviceOf(port) != device || port.link_layer != "InfiniBand" || port.state != "ACTIVE") {
        continue;
      }
      const auto expected = NicFact(context.knowledge, port, "mtu_bytes");
      if (!expected.has_value()) continue;
      finding.set_expected(absl::StrCat(*expected));
      output.findings.push_back(
          IntFinding("active_mtu_expected", node, device, static_cast<std::int64_t>(*expected)));
    }
    output.findings.push_back(std::move(finding));
    seen.insert(mtu);
  }
  for (const RdmaPort& port : ports) {
    if (mtus.contains(DeviceOf(port))) continue;
    output.findings.push_back(UnknownFinding("active_mtu", node, DeviceOf(port)));
  }
  if (const auto paths = host.Glob("/sys/class/net/*/mtu"); paths.ok()) {
    for (const std::string& path : *paths) {
      const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
      const auto line = FirstLine(host, path);
      const auto mtu = line.ok() ? LeadingInt(*line) : std::nullopt;
      if (parts.size() < 6 || !mtu.has_value() || parts[4] == "lo") continue;
      output.findings.push_back(
          IntFinding("netdev_mtu", node, absl::StrCat("netdev:", parts[4]), *mtu));
    }
  }
  output.message = absl::StrCat("active MTU of the RDMA ports: ",
                                seen.empty() ? "unknown" : absl::StrJoin(seen, ", "));
  return output;
}

}  // namespace galen::node
