#include "services/node/checks/rdma/ports.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/rdma/hca_list.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_events.h"

namespace galen::node {
namespace {

constexpr absl::string_view kRoot = "/sys/class/infiniband/";

std::string Read(const host::Host& host, absl::string_view path) {
  return FirstLine(host, path).value_or("");
}

// "5: LinkUp" to "LinkUp".
absl::string_view AfterNumber(absl::string_view text) {
  const std::size_t colon = text.find(": ");
  return colon == absl::string_view::npos ? text : text.substr(colon + 2);
}

std::optional<int> Lid(absl::string_view text) {
  std::int64_t value = 0;
  if (absl::ConsumePrefix(&text, "0x")) {
    if (!absl::SimpleHexAtoi(text, &value)) return std::nullopt;
  } else if (!absl::SimpleAtoi(text, &value)) {
    return std::nullopt;
  }
  if (value < 0 || value > 0xffff) return std::nullopt;
  return static_cast<int>(value);
}

// 4 of "400 Gb/sec (4X NDR)".
std::optional<int> LanesOf(absl::string_view rate) {
  const std::size_t open = rate.find('(');
  if (open == absl::string_view::npos) return std::nullopt;
  const absl::string_view lanes = rate.substr(open + 1);
  const auto count = LeadingInt(lanes);
  const std::size_t digits = lanes.find_first_not_of("0123456789");
  if (!count.has_value() || *count < 1 || *count > 16 || digits == absl::string_view::npos ||
      lanes[digits] != 'X') {
    return std::nullopt;
  }
  return static_cast<int>(*count);
}

// "LinkUp" of LINK_UP, as the other sources write it.
std::string PhysicalState(absl::string_view state) {
  std::string text;
  bool start = true;
  for (const char c : state.substr(0, 32)) {
    if (c == '_') {
      start = true;
      continue;
    }
    const auto letter = static_cast<unsigned char>(c);
    text += static_cast<char>(start ? absl::ascii_toupper(letter) : absl::ascii_tolower(letter));
    start = false;
  }
  return text;
}

// "0000:1a:00.1" of "PCI_SLOT_NAME=0000:1a:00.1".
std::string FunctionOf(const host::Host& host, absl::string_view hca) {
  const auto text = host.ReadFile(absl::StrCat(kRoot, hca, "/device/uevent"));
  if (!text.ok()) return "";
  for (absl::string_view line : Lines(*text)) {
    if (absl::ConsumePrefix(&line, "PCI_SLOT_NAME=")) return NormalPci(line);
  }
  return "";
}

std::optional<RdmaPort> ReadPort(const host::Host& host, absl::string_view state_path) {
  // /sys/class/infiniband/<hca>/ports/<number>/state
  const std::vector<absl::string_view> parts = absl::StrSplit(state_path, '/');
  if (parts.size() < 8) return std::nullopt;
  RdmaPort port;
  port.hca = std::string(parts[4]);
  if (!absl::SimpleAtoi(parts[6], &port.number)) return std::nullopt;
  const std::string folder = absl::StrCat(kRoot, port.hca, "/ports/", parts[6], "/");
  port.state = NormalState(Read(host, state_path));
  port.phys_state = std::string(AfterNumber(Read(host, folder + "phys_state")));
  port.link_layer = Read(host, folder + "link_layer");
  const std::string rate = Read(host, folder + "rate");
  port.rate_gbps = LeadingDouble(rate);
  port.width = LanesOf(rate);
  port.sm_lid = Lid(Read(host, folder + "sm_lid"));
  port.type = Read(host, absl::StrCat(kRoot, port.hca, "/hca_type"));
  port.board = Read(host, absl::StrCat(kRoot, port.hca, "/board_id"));
  port.pci = FunctionOf(host, port.hca);
  port.was_up = LeadingInt(Read(host, folder + "counters/link_downed")).value_or(0) > 0;
  return port;
}

auto Kind(const RdmaPort& port) { return std::tie(port.link_layer, port.type, port.board); }

// The card of a port, which may be several functions of the bus, and its place among the card's
// ports: "0000:1a:00" and "1/1" of port 1 of function 1.
std::pair<std::string, std::string> CardAndPlace(const RdmaPort& port) {
  const std::size_t dot = port.pci.rfind('.');
  if (dot == std::string::npos) return {port.hca, absl::StrCat("/", port.number)};
  return {port.pci.substr(0, dot), absl::StrCat(port.pci.substr(dot + 1), "/", port.number)};
}

// Finds unused ports: on cards with several ports, a position that is dark on every card while
// another position is in use, so that no cable was plugged in. One card alone does not show that,
// nor do ports that were up before.
std::set<const RdmaPort*> UnusedPorts(const std::vector<RdmaPort>& ports,
                                      const std::set<std::string>& hcas) {
  struct Place {
    std::set<std::string> cards;
    std::set<const RdmaPort*> ports;
    bool dark = true;
  };
  std::map<std::string, Place> places;
  for (const RdmaPort& port : ports) {
    if (!hcas.contains(port.hca)) continue;
    const auto [card, name] = CardAndPlace(port);
    Place& place = places[name];
    place.cards.insert(card);
    place.ports.insert(&port);
    place.dark = place.dark && port.state == "DOWN" && !port.was_up;
  }
  const bool used = std::any_of(places.begin(), places.end(),
                                [](const auto& place) { return !place.second.dark; });
  std::set<const RdmaPort*> unused;
  for (const auto& [name, place] : places) {
    if (used && place.dark && place.cards.size() > 1) {
      unused.insert(place.ports.begin(), place.ports.end());
    }
  }
  return unused;
}

}  // namespace

std::string DeviceOf(const RdmaPort& port) {
  return absl::StrCat("nic:", port.hca, "/port:", port.number);
}

bool NaturalLess(absl::string_view a, absl::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto digits = [](absl::string_view text) {
      std::size_t n = 0;
      while (n < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[n]))) ++n;
      return n;
    };
    const std::size_t x = digits(a);
    const std::size_t y = digits(b);
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    if (x > 0 && y > 0 && absl::SimpleAtoi(a.substr(0, x), &left) &&
        absl::SimpleAtoi(b.substr(0, y), &right)) {
      if (left != right) return left < right;
      a.remove_prefix(x);
      b.remove_prefix(y);
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

std::string NormalState(absl::string_view state) {
  std::string upper = absl::AsciiStrToUpper(absl::StripAsciiWhitespace(AfterNumber(state)));
  if (upper == "INIT" || upper == "INITIALIZE") return "INITIALIZING";
  return upper;
}

std::vector<RdmaPort> ParseIbstat(absl::string_view text) {
  std::vector<RdmaPort> ports;
  RdmaPort adapter;
  for (absl::string_view line : Lines(text)) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "CA '")) {
      adapter = RdmaPort();
      adapter.hca = std::string(absl::StripSuffix(line, "'"));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (absl::StartsWith(field.first, "Port ") && value.empty()) {
      ports.push_back(adapter);
      ports.back().number = static_cast<int>(LeadingInt(field.first.substr(5)).value_or(1));
    } else if (field.first == "CA type") {
      adapter.type = std::string(value);
    } else if (ports.empty() || ports.back().hca != adapter.hca) {
      continue;
    } else if (field.first == "State") {
      ports.back().state = NormalState(value);
    } else if (field.first == "Physical state") {
      ports.back().phys_state = std::string(value);
    } else if (field.first == "Rate") {
      ports.back().rate_gbps = LeadingDouble(value);
    } else if (field.first == "SM lid") {
      ports.back().sm_lid = Lid(value);
    } else if (field.first == "Link layer") {
      ports.back().link_layer = std::string(value);
    }
  }
  return ports;
}

absl::StatusOr<std::vector<RdmaPort>> ParseRdmaLink(absl::string_view json) {
  const nlohmann::json list = ParseJson(json);
  if (!list.is_array()) return absl::InvalidArgumentError("rdma link: output is not a JSON list");
  std::vector<RdmaPort> ports;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object()) continue;
    const auto text = [&](const char* name) {
      const auto it = entry.find(name);
      return it != entry.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    const auto number = entry.find("port");
    RdmaPort port;
    port.hca = text("ifname");
    if (port.hca.empty() || number == entry.end() || !number->is_number_unsigned()) continue;
    port.number = static_cast<int>(std::min<std::uint64_t>(number->get<std::uint64_t>(), 255));
    port.state = NormalState(text("state"));
    port.phys_state = PhysicalState(text("physical_state"));
    // netlink names the network device of an Ethernet port only; for the others the link layer
    // stays open.
    if (!text("netdev").empty() && entry.find("lid") == entry.end()) port.link_layer = "Ethernet";
    if (entry.find("lid") != entry.end()) port.link_layer = "InfiniBand";
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<RdmaPort> ParseDevinfo(absl::string_view text) {
  std::vector<RdmaPort> ports;
  RdmaPort adapter;
  for (const absl::string_view line : Lines(text)) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(absl::StripAsciiWhitespace(line), absl::MaxSplits(':', 1));
    const absl::string_view value = absl::StripAsciiWhitespace(field.second);
    if (field.first == "hca_id") {
      adapter = RdmaPort();
      adapter.hca = std::string(value);
    } else if (field.first == "board_id") {
      adapter.board = std::string(value);
    } else if (field.first == "port" && !adapter.hca.empty()) {
      ports.push_back(adapter);
      ports.back().number = static_cast<int>(LeadingInt(value).value_or(1));
    } else if (ports.empty() || ports.back().hca != adapter.hca) {
      continue;
    } else if (field.first == "state") {
      // "PORT_ACTIVE (4)"
      absl::string_view state = value.substr(0, value.find(' '));
      absl::ConsumePrefix(&state, "PORT_");
      ports.back().state = NormalState(state);
    } else if (field.first == "phys_state") {
      ports.back().phys_state = PhysicalState(value.substr(0, value.find(' ')));
    } else if (field.first == "sm_lid") {
      ports.back().sm_lid = Lid(value);
    } else if (field.first == "link_layer") {
      ports.back().link_layer = std::string(value == "IB" ? "InfiniBand" : value);
    }
  }
  return ports;
}

namespace {

// Ports of which nothing but their addresses is known: those with a RoCE address are of Ethernet.
std::vector<RdmaPort> PortsOfAddresses(const host::Host& host) {
  std::vector<RdmaPort> ports;
  const auto paths = host.Glob(absl::StrCat(kRoot, "*/ports/*/gid_attrs/types/*"));
  if (!paths.ok()) return ports;
  for (const std::string& path : *paths) {
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    int number = 0;
    if (parts.size() < 10 || !absl::SimpleAtoi(parts[6], &number)) continue;
    if (ports.empty() || ports.back().hca != parts[4] || ports.back().number != number) {
      RdmaPort& port = ports.emplace_back();
      port.hca = std::string(parts[4]);
      port.number = number;
    }
    if (Read(host, path) == "RoCE v2") ports.back().link_layer = "Ethernet";
  }
  return ports;
}

// The ports as tools report them, for when the kernel's files are unavailable.
absl::StatusOr<std::vector<RdmaPort>> PortsOfTools(const host::Host& host,
                                                   const absl::Status& files) {
  const auto text = Output(host, {"ibstat"});
  if (text.ok()) return ParseIbstat(*text);
  if (const auto links = Output(host, {"rdma", "-j", "link", "show"}); links.ok()) {
    return ParseRdmaLink(*links);
  }
  if (const auto info = Output(host, {"ibv_devinfo", "-v"}); info.ok()) {
    if (std::vector<RdmaPort> ports = ParseDevinfo(*info); !ports.empty()) return ports;
  }
  if (std::vector<RdmaPort> ports = PortsOfAddresses(host); !ports.empty()) return ports;
  return IsAbsent(text.status()) ? files : text.status();
}

}  // namespace

absl::StatusOr<std::vector<RdmaPort>> ReadPorts(const host::Host& host) {
  std::vector<RdmaPort> ports;
  const auto paths = host.Glob(absl::StrCat(kRoot, "*/ports/*/state"));
  if (paths.ok()) {
    for (const std::string& path : *paths) {
      if (std::optional<RdmaPort> port = ReadPort(host, path); port.has_value()) {
        ports.push_back(*std::move(port));
      }
    }
  } else {
    GALEN_ASSIGN_OR_RETURN(ports, PortsOfTools(host, paths.status()));
  }
  if (ports.empty()) return absl::NotFoundError("the host has no RDMA device");
  std::sort(ports.begin(), ports.end(), [](const RdmaPort& a, const RdmaPort& b) {
    if (a.hca != b.hca) return NaturalLess(a.hca, b.hca);
    return a.number < b.number;
  });
  return ports;
}

std::vector<std::string> Hcas(const std::vector<RdmaPort>& ports) {
  std::vector<std::string> names;
  for (const RdmaPort& port : ports) {
    if (names.empty() || names.back() != port.hca) names.push_back(port.hca);
  }
  return names;
}

std::set<std::string> FabricPorts(const std::vector<RdmaPort>& ports) {
  // Ports that are disabled do not form a fabric, whichever protocol they support.
  bool infiniband = false;
  bool enabled = false;
  for (const RdmaPort& port : ports) {
    if (port.link_layer != "InfiniBand") continue;
    infiniband = true;
    enabled |= port.phys_state != "Disabled";
  }
  if (infiniband && !enabled) return {};
  struct Group {
    std::set<std::string> hcas;
    double rate = 0;
  };
  std::map<std::tuple<std::string, std::string>, Group> groups;
  for (const RdmaPort& port : ports) {
    if (infiniband != (port.link_layer == "InfiniBand")) continue;
    Group& group = groups[{port.type, port.board}];
    group.hcas.insert(port.hca);
    group.rate = std::max(group.rate, port.rate_gbps.value_or(0));
  }
  const Group* best = nullptr;
  for (const auto& [kind, group] : groups) {
    if (best == nullptr || std::make_pair(group.hcas.size(), group.rate) >
                               std::make_pair(best->hcas.size(), best->rate)) {
      best = &group;
    }
  }
  std::set<std::string> fabric;
  if (best == nullptr) return fabric;
  const std::set<const RdmaPort*> unused = UnusedPorts(ports, best->hcas);
  for (const RdmaPort& port : ports) {
    if (best->hcas.contains(port.hca) && !unused.contains(&port)) fabric.insert(DeviceOf(port));
  }
  return fabric;
}

bool JobNames(const host::Host& host, absl::string_view hca) {
  const auto environment = host.JobEnvironment();
  if (!environment.ok()) return false;
  const auto it = environment->find("NCCL_IB_HCA");
  if (it == environment->end()) return false;
  const DeviceList list = ParseDeviceList(it->second);
  return !list.excludes && std::any_of(list.entries.begin(), list.entries.end(),
                                       [&](const auto& entry) { return entry.name == hca; });
}

std::vector<const RdmaPort*> ActivePeers(const RdmaPort& port, const std::vector<RdmaPort>& ports) {
  std::vector<const RdmaPort*> peers;
  for (const RdmaPort& other : ports) {
    if (Kind(other) == Kind(port) && other.state == "ACTIVE" && other.rate_gbps.has_value()) {
      peers.push_back(&other);
    }
  }
  return peers;
}

std::optional<double> ExpectedRate(const RdmaPort& port, const std::vector<RdmaPort>& ports) {
  std::map<double, int> rates;
  for (const RdmaPort* const peer : ActivePeers(port, ports)) ++rates[*peer->rate_gbps];
  std::optional<double> expected;
  int most = 0;
  for (const auto& [rate, count] : rates) {  // ascending: the higher of equals comes last
    if (count >= most) {
      most = count;
      expected = rate;
    }
  }
  return expected;
}

}  // namespace galen::node
