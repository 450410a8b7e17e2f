#include "services/node/checks/rdma/counters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr std::size_t kMostCounters = 1000;
constexpr std::size_t kMostPorts = 1000;

// The folder counters/ of sysfs is the same register under another name (port performance
// counters, InfiniBand Architecture Specification 1, 16.1.3; names of the kernel: core/sysfs.c).
constexpr std::array<std::pair<absl::string_view, absl::string_view>, 15> kNames = {{
    {"SymbolErrorCounter", "symbol_error"},
    {"LinkErrorRecoveryCounter", "link_error_recovery"},
    {"LinkDownedCounter", "link_downed"},
    {"PortRcvErrors", "port_rcv_errors"},
    {"PortRcvRemotePhysicalErrors", "port_rcv_remote_physical_errors"},
    {"PortRcvSwitchRelayErrors", "port_rcv_switch_relay_errors"},
    {"PortXmitDiscards", "port_xmit_discards"},
    {"PortXmitConstraintErrors", "port_xmit_constraint_errors"},
    {"PortRcvConstraintErrors", "port_rcv_constraint_errors"},
    {"LocalLinkIntegrityErrors", "local_link_integrity_errors"},
    {"ExcessiveBufferOverrunErrors", "excessive_buffer_overrun_errors"},
    {"VL15Dropped", "VL15_dropped"},
    {"PortXmitWait", "port_xmit_wait"},
    {"PortXmitData", "port_xmit_data"},
    {"PortRcvData", "port_rcv_data"},
}};

bool IsRate(absl::string_view finding) { return absl::EndsWith(finding, "_per_h"); }

}  // namespace

absl::StatusOr<std::vector<Growth>> GrowthsOf(const knowledge::Knowledge& knowledge) {
  static constexpr absl::string_view kCheck = "rdma.counters";
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(knowledge, kCheck));
  std::vector<Growth> growths;
  for (const knowledge::v1::FindingSpec& finding : knowledge.FindCheck(kCheck)->findings()) {
    std::vector<std::string> counters = data.Texts(finding.name());
    if (!counters.empty()) growths.push_back({finding.name(), std::move(counters)});
  }
  if (growths.empty()) {
    return absl::InternalError(
        "rdma.counters: the knowledge lists no counters; add them to `data:`");
  }
  return growths;
}

PortCounters ReadCounters(const host::Host& host, const RdmaPort& port,
                          const std::vector<Growth>& growths) {
  PortCounters counters;
  const std::string root =
      absl::StrCat("/sys/class/infiniband/", port.hca, "/ports/", port.number, "/");
  for (const Growth& growth : growths) {
    for (const std::string& name : growth.counters) {
      for (const char* folder : {"counters/", "hw_counters/"}) {
        const auto line = FirstLine(host, absl::StrCat(root, folder, name));
        const auto value = line.ok() ? LeadingInt(*line) : std::nullopt;
        if (!value.has_value()) continue;
        counters[name] = *value;
        break;
      }
    }
  }
  return counters;
}

std::optional<std::int64_t> Grown(const Growth& growth, const PortCounters& before,
                                  const PortCounters& after) {
  std::optional<std::int64_t> sum;
  for (const std::string& name : growth.counters) {
    const auto a = before.find(name);
    const auto b = after.find(name);
    if (a == before.end() || b == after.end()) continue;
    // A counter that went back was reset in between: how far it went is not known.
    if (b->second < a->second) return std::nullopt;
    sum = sum.value_or(0) + (b->second - a->second);
  }
  return sum;
}

void AddDeltas(const std::string& node, const std::string& device,
               const std::vector<Growth>& growths, const PortCounters& before,
               const PortCounters& after, absl::Duration apart, CheckOutput* output) {
  const double hours = absl::ToDoubleHours(apart);
  for (const Growth& growth : growths) {
    const std::optional<std::int64_t> grown = Grown(growth, before, after);
    if (!grown.has_value() || (IsRate(growth.finding) && hours <= 0)) {
      output->findings.push_back(UnknownFinding(growth.finding, node, device));
    } else if (IsRate(growth.finding)) {
      output->findings.push_back(
          FloatFinding(growth.finding, node, device, static_cast<double>(*grown) / hours));
    } else {
      output->findings.push_back(IntFinding(growth.finding, node, device, *grown));
    }
  }
}

absl::StatusOr<PortCounters> ParsePerfquery(absl::string_view text) {
  PortCounters counters;
  for (const absl::string_view line : Lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos || absl::StartsWith(line, "#")) continue;
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, colon));
    absl::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of('.'), value.size()));
    std::int64_t number = 0;
    if (!absl::SimpleAtoi(value, &number) || number < 0) continue;
    const auto* const known = std::find_if(kNames.begin(), kNames.end(),
                                           [&](const auto& pair) { return pair.first == name; });
    if (known != kNames.end()) counters[std::string(known->second)] = number;
  }
  if (counters.empty()) return absl::InvalidArgumentError("perfquery: the output has no counter");
  return counters;
}

absl::StatusOr<std::map<std::string, PortCounters>> ParseRdmaStatistic(absl::string_view text) {
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) {
    return absl::InvalidArgumentError("rdma statistic: the output is no JSON list");
  }
  std::map<std::string, PortCounters> ports;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object() || ports.size() >= kMostPorts) continue;
    const auto name = entry.find("ifname");
    const auto port = entry.find("port");
    if (name == entry.end() || !name->is_string() || port == entry.end() ||
        !port->is_number_integer()) {
      continue;
    }
    PortCounters& counters =
        ports[absl::StrCat(name->get<std::string>(), "/", port->get<std::int64_t>())];
    for (const auto& [key, value] : entry.items()) {
      if (key == "port" || key == "ifindex" || !value.is_number_integer()) continue;
      if (counters.size() < kMostCounters) counters[key] = value.get<std::int64_t>();
    }
  }
  if (ports.empty()) return absl::InvalidArgumentError("rdma statistic: no port is listed");
  return ports;
}

absl::StatusOr<CheckOutput> CheckRdmaCounters(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_ASSIGN_OR_RETURN(const std::vector<Growth> growths, GrowthsOf(context.knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  std::vector<PortCounters> before;
  for (const RdmaPort& port : ports) before.push_back(ReadCounters(host, port, growths));
  const absl::Time start = SteadyNow();
  absl::Duration apart;
  const absl::Duration window = absl::Seconds(context.parameters.Number("window"));
  if (host.live() && window > absl::ZeroDuration()) {
    const absl::Duration left = context.deadline - start - absl::Milliseconds(500);
    if (context.cancelled.SleepFor(
            std::clamp(window, absl::ZeroDuration(), std::max(left, absl::ZeroDuration())))) {
      return absl::CancelledError("cancelled");
    }
    apart = SteadyNow() - start;
  }
  CheckOutput output;
  std::int64_t grown = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortCounters after =
        apart > absl::ZeroDuration() ? ReadCounters(host, ports[i], growths) : PortCounters();
    AddDeltas(host.name(), DeviceOf(ports[i]), growths, before[i], after, apart, &output);
    for (const Growth& growth : growths) grown += Grown(growth, before[i], after).value_or(0) > 0;
    for (const auto& [name, value] : before[i]) {
      if (value == 0) continue;
      absl::StrAppend(&output.excerpt, DeviceOf(ports[i]), " ", name, " ", value, " since boot\n");
    }
  }
  output.message =
      apart > absl::ZeroDuration()
          ? absl::StrCat(grown, " of the watched counters grew within ",
                         absl::FormatDuration(absl::Trunc(apart, absl::Milliseconds(1))))
          : "one read only: totals since boot are known, their growth is not";
  return output;
}

}  // namespace galen::node
