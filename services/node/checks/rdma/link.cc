#include "services/node/checks/rdma/link.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/pci_devices.h"
#include "services/node/checks/rdma/netdevs.h"
#include "services/node/checks/rdma/nic_model.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/device_names.h"

namespace galen::node {
namespace {

// The bus addresses of the RDMA devices, as far as they are known.
std::set<std::string> FunctionsOf(const host::Host& host, const std::vector<RdmaPort>& ports) {
  std::set<std::string> functions;
  for (const RdmaPort& port : ports) functions.insert(port.pci);
  functions.erase("");
  if (!functions.empty()) return functions;
  if (const auto text = Output(host, {"ibdev2netdev", "-v"}); text.ok()) {
    for (const auto& [pci, name] : NicsOfIbdev2netdev(*text)) functions.insert(pci);
  }
  return functions;
}

// Functions on the bus that should have an RDMA device: those whose driver gives each of them one,
// and those like one that has one. Virtual functions are made on purpose and may be for others;
// they count where a machine has no RDMA device but such.
int AdaptersOnBus(const std::vector<PciDevice>& devices, const CheckData& data,
                  const std::set<std::string>& with_rdma) {
  const std::vector<CheckData::Pattern> adapters = data.Patterns("adapter");
  const std::vector<CheckData::Pattern> virtuals = data.Patterns("virtual_function");
  const auto heading = [](const PciDevice& device) {
    return absl::string_view(device.text).substr(0, device.text.find('\n'));
  };
  const auto kind = [](const PciDevice& device) {
    return absl::StrCat(device.vendor, ":", device.device_id);
  };
  std::set<std::string> kinds;
  bool physical = false;
  for (const PciDevice& device : devices) {
    if (!with_rdma.contains(device.address)) continue;
    kinds.insert(kind(device));
    physical |= CheckData::FirstMatch(virtuals, heading(device)).empty();
  }
  int count = 0;
  for (const PciDevice& device : devices) {
    const bool like_one = kinds.contains(kind(device)) && absl::StartsWith(device.class_code, "02");
    const bool is_virtual = !CheckData::FirstMatch(virtuals, heading(device)).empty();
    if (BelongsToGuest(device)) continue;
    count += is_virtual ? like_one && !physical
                        : like_one || !CheckData::FirstMatch(adapters, heading(device)).empty();
  }
  return count;
}

// The expected rate and width of a port.
struct Expected {
  std::optional<double> rate;
  std::optional<std::int64_t> width;
  bool by_model = false;  // rather than by its peers
};

// InfiniBand trains to the rate that the board is sold for. But an older switch and splitter
// cables, which leave a port no less than `least_lanes`, slow down all ports of a node: if all of
// them agree on a lower rate, the site is built that way, and a comparison with other nodes
// decides. The speed of Ethernet is a site's choice, and boards that the knowledge lacks are
// unknown: these are compared with their peers, too.
Expected ExpectedOf(const knowledge::Knowledge& knowledge, const RdmaPort& port,
                    const std::vector<RdmaPort>& ports, double least_lanes) {
  const auto full = NicFact(knowledge, port, "rate_gbps");
  const auto full_width = NicFact(knowledge, port, "width");
  Expected expected;
  expected.rate = ExpectedRate(port, ports);
  std::map<int, int> widths;  // of the peers at that rate
  bool reached = false;
  for (const RdmaPort* const peer : ActivePeers(port, ports)) {
    reached |= full.has_value() && *peer->rate_gbps >= *full;
    if (peer->rate_gbps == expected.rate && peer->width.has_value()) ++widths[*peer->width];
  }
  const auto usual =
      std::max_element(widths.begin(), widths.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool broken = usual != widths.end() && usual->first < least_lanes;
  if (full.has_value() && port.link_layer == "InfiniBand" &&
      (reached || broken || !expected.rate.has_value())) {
    expected.rate = full;
    expected.by_model = true;
  }
  if (!expected.by_model && full.has_value() && expected.rate.has_value() &&
      *expected.rate < *full && port.rate_gbps == expected.rate) {
    return {};  // as its peers and less than it could: who knows
  }
  if (!full_width.has_value()) return expected;
  if (expected.rate == full) {
    expected.width = static_cast<std::int64_t>(*full_width);
  } else if (usual != widths.end()) {
    expected.width = usual->first;
  }
  return expected;
}

// The fastest port of the fabric in percent of what its model can do.
std::optional<double> RateOfModel(const knowledge::Knowledge& knowledge,
                                  const std::vector<RdmaPort>& ports,
                                  const std::set<std::string>& fabric) {
  std::optional<double> best;
  for (const RdmaPort& port : ports) {
    const auto full = NicFact(knowledge, port, "rate_gbps");
    if (!fabric.contains(DeviceOf(port)) || port.state != "ACTIVE" || !full.has_value() ||
        !port.rate_gbps.has_value()) {
      continue;
    }
    best = std::max(best.value_or(0), *port.rate_gbps / *full * 100);
  }
  return best;
}

// How many interfaces each bond of the host joins, by its name.
absl::StatusOr<std::map<std::string, int>> BondMembers(const host::Host& host) {
  std::map<std::string, int> bonds;
  if (const auto paths = host.Glob("/proc/net/bonding/*"); paths.ok()) {
    for (const std::string& path : *paths) {
      const auto text = host.ReadFile(path);
      if (!text.ok()) continue;
      int members = 0;
      for (const absl::string_view line : Lines(*text)) {
        members += absl::StartsWith(line, "Slave Interface: ");
      }
      bonds[std::string(BaseName(path))] = members;
    }
  }
  if (bonds.empty()) {
    GALEN_ASSIGN_OR_RETURN(const std::string text,
                           Output(host, {"ip", "-j", "-s", "link", "show"}));
    const nlohmann::json links = ParseJson(text);
    if (!links.is_array()) return absl::InvalidArgumentError("ip link: the output is not JSON");
    for (const auto& link : links) {
      if (!link.is_object()) continue;
      const auto master = link.find("master");
      const auto flags = link.find("flags");
      if (master == link.end() || !master->is_string() || flags == link.end()) continue;
      if (!flags->is_array() || std::find(flags->begin(), flags->end(), "SLAVE") == flags->end()) {
        continue;
      }
      ++bonds[master->get<std::string>()];
    }
  }
  return bonds;
}

// A bond is one RDMA device over several functions of an adapter, two unless its interface says
// otherwise: how many functions have no device of their own.
int JoinedFunctions(const host::Host& host, const std::vector<RdmaPort>& ports) {
  int joined = 0;
  for (const RdmaPort& port : ports) {
    if (!absl::StrContains(port.hca, "bond")) continue;
    const auto bonds = BondMembers(host);
    int members = 2;
    if (bonds.ok()) {
      const auto it = bonds->find(NetdevOf(host, port));
      if (it != bonds->end() && it->second > 0) members = it->second;
    }
    joined += members - 1;
  }
  return joined;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckRdmaDevices(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto ports = ReadPorts(host);
  if (!ports.ok() && !IsAbsent(ports.status())) return ports.status();
  const std::vector<std::string> hcas = ports.ok() ? Hcas(*ports) : std::vector<std::string>();
  CheckOutput output;
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.devices"));
  const auto lspci = Output(host, {"lspci", "-vvv", "-nn"});
  const int functions =
      lspci.ok() ? AdaptersOnBus(ParseLspci(*lspci), data,
                                 ports.ok() ? FunctionsOf(host, *ports) : std::set<std::string>())
                 : 0;
  const int joined = ports.ok() ? JoinedFunctions(host, *ports) : 0;
  const int on_bus = std::max(functions - joined, 0);
  // No adapter anywhere: this machine has no RDMA, rather than lost it.
  if (hcas.empty() && on_bus == 0) return absl::NotFoundError("the host has no RDMA device");

  v1::Finding count = IntFinding("device_count", node, "", static_cast<std::int64_t>(hcas.size()));
  if (on_bus > 0) count.set_expected(absl::StrCat(on_bus));
  output.findings.push_back(std::move(count));
  output.findings.push_back(on_bus > 0 ? IntFinding("device_count_expected", node, "", on_bus)
                                       : UnknownFinding("device_count_expected", node, ""));

  std::map<std::string, std::map<std::string, int>> versions;  // of a type and board
  std::map<std::string, std::pair<std::string, std::string>> firmware;
  for (const std::string& hca : hcas) {
    const std::string root = absl::StrCat("/sys/class/infiniband/", hca);
    const auto version = FirstLine(host, root + "/fw_ver");
    if (!version.ok()) continue;
    const std::string kind = absl::StrCat(FirstLine(host, root + "/hca_type").value_or(""), " ",
                                          FirstLine(host, root + "/board_id").value_or(""));
    firmware[hca] = {kind, *version};
    ++versions[kind][*version];
  }
  for (const std::string& hca : hcas) {
    const std::string device = absl::StrCat("nic:", hca);
    const auto it = firmware.find(hca);
    if (it == firmware.end()) {
      output.findings.push_back(UnknownFinding("firmware", node, device));
      continue;
    }
    const auto& [kind, version] = it->second;
    output.findings.push_back(TextFinding("firmware", node, device, version));
    const auto most =
        std::max_element(versions[kind].begin(), versions[kind].end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    v1::Finding differs =
        BoolFinding("firmware_differs", node, device, versions[kind][version] < most->second);
    differs.set_expected("false");
    output.findings.push_back(std::move(differs));
  }
  output.message = absl::StrCat(hcas.size(), " RDMA devices (", absl::StrJoin(hcas, ", "), ")");
  if (functions > 0) absl::StrAppend(&output.message, ", ", functions, " adapters on the PCI bus");
  if (joined > 0) absl::StrAppend(&output.message, ", of which bonds join ", joined, " to others");
  return output;
}

absl::StatusOr<CheckOutput> CheckRdmaLink(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(context.host));
  const std::string& node = context.host.name();
  const std::set<std::string> fabric = FabricPorts(ports);
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "rdma.link"));
  GALEN_ASSIGN_OR_RETURN(const double least_lanes, data.Number("least_lanes"));
  CheckOutput output;
  std::vector<std::string> wrong;
  int active = 0;
  for (const RdmaPort& port : ports) {
    const std::string device = DeviceOf(port);
    const auto text = [&](absl::string_view name, const std::string& value) {
      output.findings.push_back(value.empty() ? UnknownFinding(name, node, device)
                                              : TextFinding(name, node, device, value));
    };
    active += port.state == "ACTIVE";
    // A port outside the compute fabric may be without a cable on purpose: a link that is down is
    // not a fault, so only its physical state is reported.
    const bool matters = fabric.contains(device) || JobNames(context.host, port.hca);
    if (matters || port.state == "ACTIVE") {
      text("state", port.state);
      if (matters) output.findings.back().set_expected("ACTIVE");
    }
    text("phys_state", port.phys_state);
    text("link_layer", port.link_layer);
    const Expected expected = ExpectedOf(context.knowledge, port, ports, least_lanes);
    // The rate that a port shows while it is down is not valid.
    const bool up = port.state == "ACTIVE" && port.rate_gbps.has_value();
    v1::Finding rate = up ? FloatFinding("rate_gbps", node, device, *port.rate_gbps)
                          : UnknownFinding("rate_gbps", node, device);
    if (expected.rate.has_value()) rate.set_expected(absl::StrCat(*expected.rate));
    output.findings.push_back(std::move(rate));
    output.findings.push_back(expected.rate.has_value()
                                  ? FloatFinding("rate_expected_gbps", node, device, *expected.rate)
                                  : UnknownFinding("rate_expected_gbps", node, device));
    v1::Finding width = up && port.width.has_value()
                            ? IntFinding("width", node, device, *port.width)
                            : UnknownFinding("width", node, device);
    if (expected.width.has_value()) width.set_expected(absl::StrCat(*expected.width));
    output.findings.push_back(std::move(width));
    output.findings.push_back(expected.width.has_value()
                                  ? IntFinding("width_expected", node, device, *expected.width)
                                  : UnknownFinding("width_expected", node, device));
    if (port.link_layer == "InfiniBand") {
      output.findings.push_back(port.sm_lid.has_value()
                                    ? IntFinding("sm_lid", node, device, *port.sm_lid)
                                    : UnknownFinding("sm_lid", node, device));
    }
    if (matters && port.state != "ACTIVE") {
      wrong.push_back(absl::StrCat(port.hca, " port ", port.number, " is ",
                                   port.state.empty() ? "of unknown state" : port.state,
                                   port.phys_state.empty() ? "" : ", physical state ",
                                   port.phys_state));
    } else if (up && expected.rate.has_value() && *port.rate_gbps < *expected.rate) {
      wrong.push_back(absl::StrCat(port.hca, " port ", port.number, " runs at ", *port.rate_gbps,
                                   " Gb/s, ", expected.by_model ? "its model at " : "its peers at ",
                                   *expected.rate));
    }
    absl::StrAppend(&output.excerpt, port.hca, "/", port.number, " ", port.state, " ",
                    port.phys_state, " ", port.link_layer, " ", port.rate_gbps.value_or(0),
                    " Gb/s\n");
  }
  const auto of_model = RateOfModel(context.knowledge, ports, fabric);
  output.findings.push_back(of_model.has_value()
                                ? FloatFinding("fabric_rate_of_model_pct", node, "", *of_model)
                                : UnknownFinding("fabric_rate_of_model_pct", node, ""));
  output.message = wrong.empty() ? absl::StrCat(active, " of ", ports.size(),
                                                " RDMA ports are active, all of the fabric's")
                                 : absl::StrJoin(wrong, "; ");
  if (of_model.value_or(100) < 100) {
    absl::StrAppend(&output.message, "; the fabric runs at ", *of_model,
                    " % of what its adapters can");
  }
  return output;
}

absl::StatusOr<CheckOutput> CheckBond(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  CheckOutput output;
  GALEN_ASSIGN_OR_RETURN(const auto bonds, BondMembers(host));
  // The bonds that carry RDMA are those whose device is a bond's.
  const auto ports = ReadPorts(host);
  bool rdma_bond = false;
  if (ports.ok()) {
    for (const RdmaPort& port : *ports) rdma_bond |= absl::StrContains(port.hca, "bond");
  }
  for (const auto& [name, members] : bonds) {
    const std::string device = absl::StrCat("netdev:", name);
    output.findings.push_back(BoolFinding("is_bond", node, device, rdma_bond && members > 1));
    output.findings.push_back(IntFinding("members", node, device, members));
  }
  if (bonds.empty()) output.findings.push_back(BoolFinding("is_bond", node, "", rdma_bond));
  output.message = bonds.empty() ? "no interface is a bond"
                                 : absl::StrCat(bonds.size(), " bonds, RDMA runs over ",
                                                rdma_bond ? "one" : "none", " of them");
  return output;
}

}  // namespace galen::node
