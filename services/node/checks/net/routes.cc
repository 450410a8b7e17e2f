#include "services/node/checks/net/routes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRoutes = 100000;
constexpr std::size_t kMostRoutePeers = 256;

// Peers by address, with the name they were looked up by.
std::map<std::uint32_t, std::string> Peers(const CheckContext& context) {
  std::map<std::uint32_t, std::string> peers;
  const auto add = [&](absl::string_view address, absl::string_view name) {
    const auto parsed = ParseIpv4(address);
    if (parsed.has_value() && (*parsed >> 24) != 127 && peers.size() < kMostRoutePeers) {
      peers.emplace(*parsed, std::string(name));
    }
  };
  for (const absl::string_view peer : absl::StrSplit(context.parameters.Text("peers"), ',')) {
    add(peer.substr(0, peer.find(':')), peer);
  }
  for (const auto& argv : context.host.Captured(std::vector<std::string>{"getent", "hosts"})) {
    if (argv.size() != 3 || argv[2] == context.host.name()) continue;
    const auto text = Output(context.host, argv);
    const std::vector<absl::string_view> words =
        text.ok() ? Words(*text) : std::vector<absl::string_view>();
    if (!words.empty()) add(words[0], argv[2]);
  }
  if (const auto environment = context.host.JobEnvironment(); environment.ok()) {
    const auto master = environment->find("MASTER_ADDR");
    if (master != environment->end()) add(master->second, "MASTER_ADDR");
  }
  return peers;
}

std::string Ipv4Text(std::uint32_t address) {
  return absl::StrCat(address >> 24, ".", (address >> 16) & 255, ".", (address >> 8) & 255, ".",
                      address & 255);
}

}  // namespace

std::optional<std::uint32_t> ParseIpv4(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text.substr(0, 16), '.');
  if (parts.size() != 4 || text.size() > 15) return std::nullopt;
  std::uint32_t address = 0;
  for (const absl::string_view part : parts) {
    std::uint32_t byte = 0;
    if (part.empty() || part.size() > 3 || part[0] == '+' || !absl::SimpleAtoi(part, &byte) ||
        byte > 255) {
      return std::nullopt;
    }
    address = address << 8 | byte;
  }
  return address;
}

absl::StatusOr<std::vector<Route>> ParseIpRoutes(absl::string_view text) {
  const json list = ParseJson(text);
  if (!list.is_array()) return absl::InvalidArgumentError("ip route: output is not a JSON list");
  std::vector<Route> routes;
  for (const json& entry : list) {
    if (!entry.is_object() || routes.size() >= kMostRoutes) continue;
    const auto word = [&](const char* name) {
      const auto it = entry.find(name);
      return it != entry.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    Route route;
    const std::string destination = word("dst");
    if (destination != "default") {
      const std::size_t slash = destination.find('/');
      const auto network = ParseIpv4(absl::string_view(destination).substr(0, slash));
      route.bits = 32;
      if (!network.has_value() || (slash != std::string::npos &&
                                   (!absl::SimpleAtoi(destination.substr(slash + 1), &route.bits) ||
                                    route.bits < 0 || route.bits > 32))) {
        continue;
      }
      route.network = *network;
    }
    const std::string type = word("type");
    route.refused = type == "unreachable" || type == "blackhole" || type == "prohibit";
    route.netdev = word("dev");
    route.gateway = word("gateway");
    if (const auto flags = entry.find("flags"); flags != entry.end() && flags->is_array()) {
      for (const json& flag : *flags) {
        route.link_down |= flag == "linkdown" || flag == "dead";
      }
    }
    routes.push_back(std::move(route));
  }
  return routes;
}

std::optional<Route> RouteTo(const std::vector<Route>& routes, std::uint32_t address) {
  const Route* best = nullptr;
  for (const Route& route : routes) {
    const std::uint32_t mask = route.bits == 0 ? 0 : ~std::uint32_t{0} << (32 - route.bits);
    if ((address & mask) != (route.network & mask)) continue;
    if (best == nullptr || route.bits > best->bits) best = &route;
  }
  return best == nullptr ? std::nullopt : std::optional<Route>(*best);
}

absl::StatusOr<CheckOutput> CheckRoutes(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, {"ip", "-j", "route", "show"}));
  GALEN_ASSIGN_OR_RETURN(const std::vector<Route> routes, ParseIpRoutes(text));
  const std::map<std::uint32_t, std::string> peers = Peers(context);
  if (peers.empty()) {
    return absl::FailedPreconditionError("no peer is known: set parameter peers");
  }
  CheckOutput output;
  std::vector<std::string> wrong;
  for (const auto& [address, name] : peers) {
    const std::string device = absl::StrCat("peer:", name);
    const std::optional<Route> route = RouteTo(routes, address);
    const bool way = route.has_value() && !route->refused && !route->link_down;
    output.findings.push_back(BoolFinding("route_to_peer", host.name(), device, way));
    output.findings.push_back(way && !route->netdev.empty()
                                  ? TextFinding("route_netdev", host.name(), device, route->netdev)
                                  : UnknownFinding("route_netdev", host.name(), device));
    if (way) continue;
    wrong.push_back(absl::StrCat(name, " (", Ipv4Text(address), ") ",
                                 !route.has_value() ? "has no route"
                                 : route->refused   ? "is refused by a route"
                                                    : "is behind a link that is down"));
  }
  output.message = wrong.empty()
                       ? absl::StrCat("there is a route to each of ", peers.size(), " peers")
                       : absl::StrJoin(wrong, "; ");
  return output;
}

}  // namespace galen::node
