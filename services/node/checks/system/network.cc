#include "services/node/checks/system/network.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/firewall.h"

namespace galen::node {
namespace {

// The value under `column` of a table of two lines that begin with `prefix`, as in /proc/net/snmp.
std::optional<std::int64_t> PairedField(absl::string_view text, absl::string_view prefix,
                                        absl::string_view column) {
  std::vector<absl::string_view> heading;
  for (const absl::string_view line : Lines(text)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.empty() || words[0] != prefix) continue;
    if (heading.empty()) {
      heading = words;
      continue;
    }
    for (std::size_t i = 1; i < heading.size() && i < words.size(); ++i) {
      if (heading[i] == column) return LeadingInt(words[i]);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckResolve(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  CheckOutput output;
  std::string text;
  if (const auto found = Output(host, {"getent", "hosts", node}); found.ok()) {
    text = *found;
  } else {
    // The file comes first where nothing else was asked.
    GALEN_ASSIGN_OR_RETURN(const std::string hosts, host.ReadFile("/etc/hosts"));
    for (const absl::string_view line : Lines(hosts)) {
      const std::vector<absl::string_view> words = Words(line.substr(0, line.find('#')));
      for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == node && text.empty()) text = std::string(line);
      }
    }
  }
  const std::vector<absl::string_view> words = Words(text);
  if (words.empty()) {
    output.findings.push_back(UnknownFinding("own_name_loopback", node, ""));
    output.message = absl::StrCat("the address of ", node, " is not known");
  } else {
    const bool loopback = absl::StartsWith(words[0], "127.") || words[0] == "::1";
    output.findings.push_back(BoolFinding("own_name_loopback", node, "", loopback));
    output.message = absl::StrCat("the node's own name gives ", words[0],
                                  loopback ? ", a loopback address" : "");
  }
  output.findings.push_back(UnknownFinding("peer_unresolved", node, ""));
  output.excerpt = text;
  return output;
}

absl::StatusOr<CheckOutput> CheckPorts(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const auto environment, host.JobEnvironment());
  const auto it = environment.find("MASTER_PORT");
  std::int64_t port = 0;
  if (it == environment.end() || !absl::SimpleAtoi(it->second, &port)) {
    return absl::NotFoundError("the job sets no MASTER_PORT");
  }
  CheckOutput output;
  const auto line = FirstLine(host, "/proc/sys/net/ipv4/ip_local_port_range");
  if (const auto range = line.ok() ? ParsePortRange(*line) : std::nullopt; range.has_value()) {
    const bool inside = port >= range->low && port <= range->high;
    output.findings.push_back(BoolFinding("master_port_in_ephemeral_range", node, "", inside));
    output.message =
        absl::StrCat("MASTER_PORT ", port, inside ? " is" : " is not", " in the range ", range->low,
                     "-", range->high, " of outgoing connections");
  } else {
    output.findings.push_back(UnknownFinding("master_port_in_ephemeral_range", node, ""));
    output.message = absl::StrCat("MASTER_PORT is ", port);
  }
  output.findings.push_back(UnknownFinding("port_in_use_by", node, ""));
  return output;
}

absl::StatusOr<CheckOutput> CheckTcpCounters(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "net.tcp_counters"));
  GALEN_ASSIGN_OR_RETURN(const double enough, data.Number("enough_segments"));
  GALEN_ASSIGN_OR_RETURN(const std::string text, context.host.ReadFile("/proc/net/snmp"));
  const auto sent = PairedField(text, "Tcp:", "OutSegs");
  const auto again = PairedField(text, "Tcp:", "RetransSegs");
  CheckOutput output;
  if (static_cast<double>(sent.value_or(0)) >= enough && again.has_value()) {
    const double percent = 100.0 * static_cast<double>(*again) / static_cast<double>(*sent);
    output.findings.push_back(FloatFinding("retransmit_pct", node, "", percent));
    output.message = absl::StrCat(percent, " % of TCP segments since boot were sent again");
  } else {
    output.findings.push_back(UnknownFinding("retransmit_pct", node, ""));
    output.message =
        sent.has_value() && static_cast<double>(*sent) < enough
            ? absl::StrCat("too few TCP segments were sent (", *sent, ") to tell how many are lost")
            : "how many TCP segments were sent again is not known";
  }
  output.findings.push_back(UnknownFinding("timeouts_delta", node, ""));
  return output;
}

}  // namespace galen::node
