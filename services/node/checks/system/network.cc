#include "services/node/checks/system/network.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"

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

// "22", "1024:65535", "1024:", or of multiport a list of such: whether one of them holds `all`.
bool Holds(absl::string_view ports, const PortRange& all) {
  for (const absl::string_view part : absl::StrSplit(ports, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    const bool range = absl::StrContains(part, ':');
    PortRange one = {0, 65535};
    if (!(range && ends.first.empty()) && !absl::SimpleAtoi(ends.first, &one.low)) continue;
    if (!range) one.high = one.low;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &one.high)) continue;
    if (one.low <= all.low && one.high >= all.high) return true;
  }
  return false;
}

// What a rule of INPUT does to every new TCP connection to `high`: true lets it in, false turns it
// away. Nothing for a rule that goes by anything else, or only counts or passes on.
std::optional<bool> Decision(absl::string_view rule, const PortRange& high) {
  // The text of a comment, which may hold anything.
  static const RE2 comment(R"re( --comment (?:"(?:[^"\\]|\\.)*"|\S+))re");
  std::string plain(rule);
  RE2::GlobalReplace(&plain, comment, "");
  const std::vector<absl::string_view> words = Words(plain);
  bool negated = false;
  for (std::size_t i = 2; i < words.size(); ++i) {  // behind "-A INPUT"
    const absl::string_view word = words[i];
    const absl::string_view value = i + 1 < words.size() ? words[i + 1] : "";
    if (word == "!") {
      negated = true;
      continue;
    }
    if (word == "-j") {
      if (value == "ACCEPT") return true;
      if (value == "DROP" || value == "REJECT") return false;
      return std::nullopt;
    }
    bool takes_all = false;
    if (word == "-p") {
      takes_all = !negated && (value == "tcp" || value == "all");
    } else if (word == "-m") {
      takes_all = value == "tcp" || value == "state" || value == "conntrack" ||
                  value == "comment" || value == "multiport";
    } else if (word == "--state" || word == "--ctstate") {
      const std::vector<absl::string_view> states = absl::StrSplit(value, ',');
      takes_all = negated != (std::find(states.begin(), states.end(), "NEW") != states.end());
    } else if (word == "--dport" || word == "--dports") {
      takes_all = !negated && Holds(value, high);
    }
    if (!takes_all) return std::nullopt;
    negated = false;
    ++i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<PortRange> ParsePortRange(absl::string_view text) {
  const std::vector<absl::string_view> ends = Words(text);
  PortRange range;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &range.low) ||
      !absl::SimpleAtoi(ends[1], &range.high)) {
    return std::nullopt;
  }
  return range;
}

std::optional<bool> InputIsOpen(absl::string_view iptables_save, const PortRange& high) {
  std::optional<bool> open;
  bool filter = true;
  for (const absl::string_view line : Lines(iptables_save)) {
    if (absl::StartsWith(line, "*")) filter = line == "*filter";
    if (!filter) continue;
    if (absl::StartsWith(line, ":INPUT ")) open = absl::StartsWith(line, ":INPUT ACCEPT");
    if (!absl::StartsWith(line, "-A INPUT ")) continue;
    // The first rule that takes them all decides before the policy.
    if (const std::optional<bool> decision = Decision(line, high)) return decision;
  }
  return open;
}

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

absl::StatusOr<CheckOutput> CheckFirewall(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "net.firewall"));
  GALEN_ASSIGN_OR_RETURN(const double low, data.Number("ephemeral_low"));
  GALEN_ASSIGN_OR_RETURN(const double high, data.Number("ephemeral_high"));
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(context.host, {"iptables-save"}));
  const auto range = FirstLine(context.host, "/proc/sys/net/ipv4/ip_local_port_range");
  const std::optional<bool> open = InputIsOpen(
      text,
      (range.ok() ? ParsePortRange(*range) : std::nullopt)
          .value_or(PortRange{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)}));
  CheckOutput output;
  output.findings.push_back(open.has_value() ? BoolFinding("restrictive_input", node, "", !*open)
                                             : UnknownFinding("restrictive_input", node, ""));
  output.findings.push_back(open.has_value() ? BoolFinding("allows_ephemeral", node, "", *open)
                                             : UnknownFinding("allows_ephemeral", node, ""));
  output.message = !open.has_value() ? "the rules name no INPUT chain"
                   : *open           ? "new connections to high ports are let in"
                                     : "new connections to high ports are turned away";
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
