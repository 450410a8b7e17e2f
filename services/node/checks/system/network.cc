#include "services/node/checks/system/network.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
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

// The result of resolving one name.
enum class Resolved { kYes, kNo, kUnknown };

Resolved Resolve(const host::Host& host, const std::vector<std::string>& getent) {
  const auto result = host.Run(getent);
  if (!result.ok()) return Resolved::kUnknown;
  if (!Words(result->out).empty()) return Resolved::kYes;
  // getent(1): a key that is not found.
  return result->exit_code == 2 ? Resolved::kNo : Resolved::kUnknown;
}

bool IsAddress(absl::string_view text) {
  return absl::StrContains(text, ':') ||
         (!text.empty() && text.find_first_not_of("0123456789.") == absl::string_view::npos);
}

// Names of other nodes that this node was asked to resolve and could not. It reports that all are
// known only if a name that the job uses is among them: nodes may have names that no job uses.
v1::Finding UnresolvedPeers(const host::Host& host, CheckOutput& output) {
  constexpr std::size_t kMostNames = 16;
  const std::string& node = host.name();
  std::string advertised;
  if (const auto environment = host.JobEnvironment(); environment.ok()) {
    const auto it = environment->find("MASTER_ADDR");
    if (it != environment->end()) advertised = it->second;
  }
  bool advertised_is_known = IsAddress(advertised) || (!advertised.empty() && advertised == node);
  bool all = true;
  std::size_t asked = 0;
  std::vector<std::string> unresolved;
  for (const auto& getent : host.Captured(std::vector<std::string>{"getent", "hosts"})) {
    if (getent.size() != 3 || getent[2] == node) continue;
    if (++asked > 1024) break;
    const Resolved resolved = Resolve(host, getent);
    all = all && resolved == Resolved::kYes;
    advertised_is_known |= resolved == Resolved::kYes && getent[2] == advertised;
    if (resolved == Resolved::kNo && unresolved.size() < kMostNames) {
      unresolved.push_back(CleanText(getent[2], 256));
    }
  }
  if (!unresolved.empty()) {
    const std::string names = absl::StrJoin(unresolved, ", ");
    absl::StrAppend(&output.message, "; it has no address for ", names);
    return TextFinding("peer_unresolved", node, "", names);
  }
  return asked > 0 && all && advertised_is_known ? TextFinding("peer_unresolved", node, "", "none")
                                                 : UnknownFinding("peer_unresolved", node, "");
}

// The state of a port by the sockets in `ss -tan`: "none", or its holder if that is not the job
// itself. Nothing if that is unknown: the listing does not name the process, and a listening one
// may be the job's own.
std::optional<std::string> HolderOf(absl::string_view ss, std::int64_t port, bool ephemeral) {
  bool heading = false;
  bool job_or_its_remains = false;
  std::string holder;
  for (const absl::string_view line : Lines(ss)) {
    const std::vector<absl::string_view> words = Words(line);
    if (words.size() < 5) continue;
    if (words[0] == "State") {
      heading = true;
      continue;
    }
    const absl::string_view local = words[3];
    const std::size_t colon = local.rfind(':');
    std::int64_t number = 0;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(local.substr(colon + 1), &number) ||
        number != port) {
      continue;
    }
    // Without a listener here a connection from this port goes out, and the port is one of those
    // that the kernel gives to such.
    const bool goes_out = ephemeral && (words[0] == "ESTAB" || words[0] == "SYN-SENT");
    if (goes_out && holder.empty()) {
      holder = absl::StrCat("a connection to ", CleanText(words[4], 128));
    }
    job_or_its_remains |= !goes_out;
  }
  if (!heading || job_or_its_remains) return std::nullopt;
  return holder.empty() ? "none" : holder;
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
    // Without an answer of getent /etc/hosts decides, which comes first by default.
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
  output.findings.push_back(UnresolvedPeers(host, output));
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
  bool inside = false;
  if (const auto range = line.ok() ? ParsePortRange(*line) : std::nullopt; range.has_value()) {
    inside = port >= range->low && port <= range->high;
    output.findings.push_back(BoolFinding("master_port_in_ephemeral_range", node, "", inside));
    output.message =
        absl::StrCat("MASTER_PORT ", port, inside ? " is" : " is not", " in the range ", range->low,
                     "-", range->high, " of outgoing connections");
  } else {
    output.findings.push_back(UnknownFinding("master_port_in_ephemeral_range", node, ""));
    output.message = absl::StrCat("MASTER_PORT is ", port);
  }
  std::optional<std::string> holder;
  if (const auto sockets = Output(host, {"ss", "-tan"}); sockets.ok()) {
    holder = HolderOf(*sockets, port, inside);
  }
  output.findings.push_back(holder.has_value() ? TextFinding("port_in_use_by", node, "", *holder)
                                               : UnknownFinding("port_in_use_by", node, ""));
  if (holder.has_value() && *holder != "none") {
    absl::StrAppend(&output.message, "; ", *holder, " holds it");
  }
  return output;
}

absl::StatusOr<CheckOutput> CheckTcpCounters(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "net.tcp_counters"));
  GALEN_ASSIGN_OR_RETURN(const double enough, data.Number("enough_segments"));
  const auto snmp = context.host.ReadFile("/proc/net/snmp");
  const auto netstat = context.host.ReadFile("/proc/net/netstat");
  if (!snmp.ok() && !netstat.ok()) return snmp.status();
  const absl::string_view text = snmp.ok() ? absl::string_view(*snmp) : "";
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
  // Counted since boot, so not judged: reported beside the other findings.
  for (const auto& [finding, column] : {std::pair("timeouts_total", "TCPTimeouts"),
                                        std::pair("listen_drops_total", "ListenDrops")}) {
    const auto total = netstat.ok() ? PairedField(*netstat, "TcpExt:", column) : std::nullopt;
    output.findings.push_back(total.has_value() ? IntFinding(finding, node, "", *total)
                                                : UnknownFinding(finding, node, ""));
    if (total.has_value()) absl::StrAppend(&output.message, "; ", column, " ", *total);
  }
  return output;
}

}  // namespace galen::node
