#include <string>
#include <vector>

#include "services/node/checks/net/cloud_policy.h"
#include "services/node/checks/net/links.h"
#include "services/node/checks/net/reachability.h"
#include "services/node/checks/net/routes.h"
#include "services/node/checks/net/tcp/tcp.h"
#include "services/node/checks/rdma/counters.h"
#include "services/node/checks/rdma/gid_table.h"
#include "services/node/checks/rdma/mtu.h"
#include "services/node/checks/rdma/netdevs.h"
#include "services/node/checks/rdma/perftest.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/rdma/qos.h"
#include "services/node/checks/rdma/transceiver.h"
#include "services/node/checks/rdma/verbs/pair_message.h"
#include "tests/fuzz/fuzzer.h"

namespace galen::fuzz {
namespace {

void Routes(absl::string_view text) {
  const auto routes = node::ParseIpRoutes(text);
  if (routes.ok()) Use(node::RouteTo(*routes, 0x0a000001));
}

void MlnxQos(absl::string_view text) {
  const auto settings = node::ParseMlnxQos(text);
  if (!settings.ok()) return;
  for (int traffic_class = -1; traffic_class < 9; ++traffic_class) {
    Use(node::IsProtected(*settings, traffic_class));
  }
}

void Address(absl::string_view text) {
  Use(node::ParseIpv4(text));
  // One address is not of both kinds.
  if (node::IsIpv4Gid(text) && node::IsGlobalIpv6Gid(text)) __builtin_trap();
}

void PairMessage(absl::string_view text) {
  const auto message = node::ParsePairMessage(text);
  if (!message.ok()) return;
  Use(message->Integer("bytes", 1, 1 << 20));
  Use(node::ParseEndpoint(*message));
}

std::vector<Parser> All() {
  return {
      {"rdma_link", [](absl::string_view text) { Use(node::ParseRdmaLink(text)); }},
      {"rdma_netdevs", [](absl::string_view text) { Use(node::NetdevsOfRdmaLink(text)); }},
      {"ibdev2netdev", [](absl::string_view text) { Use(node::NetdevsOfIbdev2netdev(text)); }},
      {"ibv_devinfo", [](absl::string_view text) { Use(node::ParseActiveMtus(text)); }},
      {"perftest", [](absl::string_view text) { Use(node::ParsePerftest(text)); }},
      {"mlnx_qos", MlnxQos},
      {"mlxlink", [](absl::string_view text) { Use(node::ParseMlxlink(text)); }},
      {"ethtool_module", [](absl::string_view text) { Use(node::ParseEthtoolModule(text)); }},
      {"ethtool", [](absl::string_view text) { Use(node::ParseEthtoolSettings(text)); }},
      {"ethtool_statistics",
       [](absl::string_view text) { Use(node::ParseEthtoolStatistics(text)); }},
      {"ip_link", [](absl::string_view text) { Use(node::ParseIpLinkJson(text)); }},
      {"routes", Routes},
      {"address", Address},
      {"ping", [](absl::string_view text) { Use(node::ParsePingLoss(text)); }},
      {"pair_message", PairMessage},
      {"socket_address", [](absl::string_view text) { Use(node::ParseSocketAddress(text)); }},
      {"security_groups", [](absl::string_view text) { Use(node::ParseSecurityGroupRules(text)); }},
  };
}

}  // namespace

absl::Span<const Parser> Parsers() {
  static const std::vector<Parser> kParsers = All();
  return kParsers;
}

}  // namespace galen::fuzz
