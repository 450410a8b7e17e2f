#include "services/node/checks/rdma/qos.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/node/checks/rdma/netdevs.h"
#include "services/node/checks/rdma/ports.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

constexpr int kMostDscp = 63;

// Congestion notification of RoCE is on for any priority, both as sender and as receiver.
std::optional<bool> EcnEnabled(const host::Host& host, absl::string_view netdev) {
  bool known = false;
  bool both = true;
  for (const char* side : {"roce_np", "roce_rp"}) {
    const auto paths =
        host.Glob(absl::StrCat("/sys/class/net/", netdev, "/ecn/", side, "/enable/*"));
    if (!paths.ok()) return std::nullopt;
    bool any = false;
    for (const std::string& path : *paths) {
      const auto line = FirstLine(host, path);
      if (!line.ok()) continue;
      known = true;
      any |= *line == "1";
    }
    both = both && any;
  }
  return known ? std::optional<bool>(both) : std::nullopt;
}

std::optional<int> JobTrafficClass(const host::Host& host) {
  const auto environment = host.JobEnvironment();
  if (!environment.ok()) return std::nullopt;
  const auto it = environment->find("NCCL_IB_TC");
  int value = 0;
  if (it == environment->end() || !absl::SimpleAtoi(it->second, &value) || value < 0 ||
      value > 255) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

absl::StatusOr<QosSettings> ParseMlnxQos(absl::string_view text) {
  QosSettings settings;
  bool pfc = false;
  bool in_pfc = false;
  for (const absl::string_view raw : Lines(text)) {
    absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (absl::ConsumePrefix(&line, "Priority trust state:")) {
      settings.trust = std::string(absl::StripAsciiWhitespace(line));
    } else if (absl::ConsumePrefix(&line, "PFC configuration")) {
      in_pfc = true;
    } else if (in_pfc && absl::ConsumePrefix(&line, "enabled")) {
      const std::vector<absl::string_view> bits = Words(line);
      for (std::size_t i = 0; i < bits.size() && i < settings.pfc.size(); ++i) {
        settings.pfc[i] = bits[i] == "1";
      }
      pfc = !bits.empty();
      in_pfc = false;
    } else if (absl::ConsumePrefix(&line, "prio:")) {
      const std::pair<absl::string_view, absl::string_view> halves =
          absl::StrSplit(line, absl::MaxSplits(" dscp:", 1));
      int priority = 0;
      if (!absl::SimpleAtoi(halves.first, &priority) || priority < 0 ||
          priority >= QosSettings::kPriorities) {
        continue;
      }
      for (const absl::string_view number : absl::StrSplit(halves.second, ',')) {
        int dscp = 0;
        if (absl::SimpleAtoi(number, &dscp) && dscp >= 0 && dscp <= kMostDscp) {
          settings.priority_of_dscp[dscp] = priority;
        }
      }
    }
  }
  if (!pfc) return absl::InvalidArgumentError("mlnx_qos: the output says nothing of PFC");
  return settings;
}

std::optional<bool> IsProtected(const QosSettings& settings, int traffic_class) {
  if (settings.trust != "dscp") return std::nullopt;
  const auto it = settings.priority_of_dscp.find(traffic_class >> 2);
  if (it == settings.priority_of_dscp.end()) return std::nullopt;
  return settings.pfc[static_cast<std::size_t>(it->second)];
}

absl::StatusOr<CheckOutput> CheckQos(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  const std::optional<int> traffic_class = JobTrafficClass(host);
  CheckOutput output;
  std::vector<std::string> said;
  bool ethernet = false;
  absl::Status last = absl::NotFoundError("no network device of the RDMA ports is known");
  for (const RdmaPort& port : ports) {
    if (port.link_layer != "Ethernet") continue;
    ethernet = true;
    const std::string netdev = NetdevOf(host, port);
    if (netdev.empty()) continue;
    const std::string device = DeviceOf(port);
    const auto printed = Output(host, {"mlnx_qos", "-i", netdev});
    auto settings =
        printed.ok() ? ParseMlnxQos(*printed) : absl::StatusOr<QosSettings>(printed.status());
    if (!settings.ok()) {
      last = settings.status();
      // Adapters of other makers have no such tool: nothing is known of them.
      continue;
    }
    std::vector<int> on;
    for (int i = 0; i < QosSettings::kPriorities; ++i) {
      if (settings->pfc[static_cast<std::size_t>(i)]) on.push_back(i);
    }
    output.findings.push_back(BoolFinding("pfc_enabled", node, device, !on.empty()));
    output.findings.push_back(
        TextFinding("pfc_priorities", node, device, on.empty() ? "none" : absl::StrJoin(on, ",")));
    output.findings.push_back(settings->trust.empty()
                                  ? UnknownFinding("trust", node, device)
                                  : TextFinding("trust", node, device, settings->trust));
    const std::optional<bool> ecn = EcnEnabled(host, netdev);
    output.findings.push_back(ecn.has_value() ? BoolFinding("ecn_enabled", node, device, *ecn)
                                              : UnknownFinding("ecn_enabled", node, device));
    // A job that sets no class leaves the choice to the network: then there is nothing to match.
    // Neither is there where PFC is off for all.
    if (traffic_class.has_value() && !on.empty()) {
      const std::optional<bool> matches = IsProtected(*settings, *traffic_class);
      output.findings.push_back(matches.has_value()
                                    ? BoolFinding("traffic_class_matches", node, device, *matches)
                                    : UnknownFinding("traffic_class_matches", node, device));
      if (matches.has_value() && !*matches) {
        said.push_back(absl::StrCat("traffic class ", *traffic_class, " of the job (DSCP ",
                                    *traffic_class >> 2, ") is not protected at ", port.hca));
      }
    }
    said.push_back(absl::StrCat(port.hca, ": PFC ",
                                on.empty() ? "off" : "on for " + absl::StrJoin(on, ","), ", trust ",
                                settings->trust.empty() ? "unknown" : settings->trust));
  }
  if (!ethernet) return absl::NotFoundError("no port runs RoCE");
  if (output.findings.empty()) return last;
  output.message = absl::StrJoin(said, "; ");
  return output;
}

}  // namespace galen::node
