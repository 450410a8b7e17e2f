#include "services/node/checks/net/links.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/json_access.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "nlohmann/json.hpp"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLinks = 4096;
constexpr std::size_t kMostFields = 20000;
// No counter is beyond this, and a sum of many does not overflow.
constexpr std::int64_t kMostCount = std::int64_t{1} << 56;

std::optional<std::int64_t> Counter(const json& link, const char* side, const char* name) {
  for (const char* group : {"stats64", "stats"}) {
    const auto stats = link.find(group);
    if (stats == link.end() || !stats->is_object()) continue;
    const auto half = stats->find(side);
    if (half == stats->end() || !half->is_object()) continue;
    const auto value = half->find(name);
    if (value == half->end() || !value->is_number_unsigned()) continue;
    const auto count = value->get<std::uint64_t>();
    if (count > static_cast<std::uint64_t>(kMostCount)) return std::nullopt;
    return static_cast<std::int64_t>(count);
  }
  return std::nullopt;
}

std::optional<std::int64_t> Both(const json& link, const char* name) {
  const auto received = Counter(link, "rx", name);
  const auto sent = Counter(link, "tx", name);
  if (!received.has_value() || !sent.has_value()) return std::nullopt;
  return *received + *sent;
}

void SetFlags(absl::string_view flag, NetLink* link) {
  link->up |= flag == "UP";
  link->carrier |= flag == "LOWER_UP";
}

std::int64_t Sum(const host::Host& host, absl::string_view netdev,
                 const std::vector<std::string>& files, bool* known) {
  std::int64_t sum = 0;
  *known = false;
  for (const std::string& file : files) {
    const auto line = FirstLine(host, absl::StrCat("/sys/class/net/", netdev, "/", file));
    const auto value = line.ok() ? LeadingInt(*line) : std::nullopt;
    if (!value.has_value() || *value < 0 || *value > kMostCount) continue;
    *known = true;
    sum += *value;
  }
  return sum;
}

// Counters that are added up for one finding, from the knowledge.
struct Watched {
  std::string finding;
  std::vector<std::string> files;  // below /sys/class/net/<netdev>/
};

std::optional<double> SpeedOf(const host::Host& host, const std::string& netdev) {
  const auto line = FirstLine(host, absl::StrCat("/sys/class/net/", netdev, "/speed"));
  // The kernel says -1 where it does not know.
  if (line.ok()) {
    const auto speed = LeadingDouble(*line);
    if (speed.has_value() && *speed > 0) return speed;
  }
  const auto text = Output(host, {"ethtool", netdev});
  if (!text.ok()) return std::nullopt;
  const auto settings = ParseEthtoolSettings(*text);
  return settings.ok() ? settings->speed_mbps : std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<NetLink>> ParseIpLinkJson(absl::string_view text) {
  const json list = ParseJson(text);
  if (!list.is_array()) return absl::InvalidArgumentError("ip link: output is not a JSON list");
  std::vector<NetLink> links;
  for (const json& entry : list) {
    if (!entry.is_object() || links.size() >= kMostLinks) continue;
    const auto word = [&](const char* name) {
      const auto it = entry.find(name);
      return it != entry.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    NetLink link;
    link.name = word("ifname");
    if (link.name.empty()) continue;
    link.state = word("operstate");
    link.kind = word("link_type");
    link.master = word("master");
    if (const auto mtu = entry.find("mtu"); mtu != entry.end() && mtu->is_number_unsigned()) {
      link.mtu = mtu->get<std::int64_t>();
    }
    if (const auto flags = entry.find("flags"); flags != entry.end() && flags->is_array()) {
      for (const json& flag : *flags) {
        if (flag.is_string()) SetFlags(flag.get<std::string>(), &link);
      }
    }
    link.errors = Both(entry, "errors");
    link.dropped = Both(entry, "dropped");
    links.push_back(std::move(link));
  }
  return links;
}

absl::StatusOr<EthtoolSettings> ParseEthtoolSettings(absl::string_view text) {
  EthtoolSettings settings;
  bool any = false;
  for (const absl::string_view raw : Lines(text)) {
    absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (absl::ConsumePrefix(&line, "Settings for ")) {
      settings.netdev = std::string(absl::StripSuffix(line, ":"));
      any = true;
    } else if (absl::ConsumePrefix(&line, "Speed: ")) {
      if (absl::EndsWith(line, "Mb/s")) settings.speed_mbps = LeadingDouble(line);
    } else if (absl::ConsumePrefix(&line, "Link detected: ")) {
      settings.link = absl::StartsWith(line, "yes");
    }
  }
  if (!any) return absl::InvalidArgumentError("ethtool: the output has no settings");
  return settings;
}

absl::StatusOr<std::map<std::string, std::int64_t>> ParseEthtoolStatistics(absl::string_view text) {
  std::map<std::string, std::int64_t> counters;
  for (const absl::string_view line : Lines(text)) {
    const std::size_t colon = line.rfind(':');
    if (colon == absl::string_view::npos || counters.size() >= kMostFields) continue;
    const absl::string_view name = absl::StripAsciiWhitespace(line.substr(0, colon));
    std::int64_t value = 0;
    if (name.empty() || !absl::SimpleAtoi(line.substr(colon + 1), &value)) continue;
    counters[std::string(name)] = value;
  }
  if (counters.empty()) return absl::InvalidArgumentError("ethtool -S: the output has no counter");
  return counters;
}

absl::StatusOr<CheckOutput> CheckInterfaces(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "net.interfaces"));
  std::vector<NetLink> links;
  if (const auto text = Output(host, {"ip", "-j", "-s", "link", "show"}); text.ok()) {
    GALEN_ASSIGN_OR_RETURN(links, ParseIpLinkJson(*text));
  } else {
    const auto paths = host.Glob("/sys/class/net/*/operstate");
    if (!paths.ok()) return text.status();
    for (const std::string& path : *paths) {
      NetLink link;
      link.name = std::vector<std::string>(absl::StrSplit(path, '/'))[4];
      link.state = absl::AsciiStrToUpper(FirstLine(host, path).value_or(""));
      link.carrier = link.state == "UP";
      links.push_back(std::move(link));
    }
  }
  std::vector<Watched> watched;
  for (const char* finding : {"errors_delta", "dropped_delta", "carrier_changes_delta"}) {
    watched.push_back({finding, data.Texts(finding)});
  }
  struct Read {
    std::int64_t value = 0;
    bool known = false;
  };
  const auto read = [&] {
    std::vector<Read> all;
    for (const NetLink& link : links) {
      for (const Watched& one : watched) {
        Read value;
        value.value = Sum(host, link.name, one.files, &value.known);
        all.push_back(value);
      }
    }
    return all;
  };
  std::vector<Read> before;
  std::vector<Read> after;
  const absl::Duration window = absl::Seconds(context.parameters.Number("window"));
  if (host.live() && window > absl::ZeroDuration()) {
    before = read();
    const absl::Duration left = context.deadline - SteadyNow() - absl::Milliseconds(500);
    if (context.cancelled.SleepFor(
            std::clamp(window, absl::ZeroDuration(), std::max(left, absl::ZeroDuration())))) {
      return absl::CancelledError("cancelled");
    }
    after = read();
  }
  CheckOutput output;
  int up = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const NetLink& link = links[i];
    if (link.name == "lo" || link.kind == "loopback") continue;
    const std::string device = absl::StrCat("netdev:", link.name);
    up += link.carrier;
    output.findings.push_back(link.state.empty() ? UnknownFinding("state", node, device)
                                                 : TextFinding("state", node, device, link.state));
    const auto speed = link.carrier ? SpeedOf(host, link.name) : std::nullopt;
    output.findings.push_back(speed.has_value() ? FloatFinding("speed_mbps", node, device, *speed)
                                                : UnknownFinding("speed_mbps", node, device));
    for (std::size_t w = 0; w < watched.size(); ++w) {
      const std::size_t at = i * watched.size() + w;
      const bool known = at < after.size() && before[at].known && after[at].known &&
                         after[at].value >= before[at].value;
      output.findings.push_back(
          known ? IntFinding(watched[w].finding, node, device, after[at].value - before[at].value)
                : UnknownFinding(watched[w].finding, node, device));
    }
    if (link.errors.value_or(0) > 0) {
      absl::StrAppend(&output.excerpt, link.name, " ", *link.errors, " errors since boot\n");
    }
  }
  output.message = absl::StrCat(up, " network interfaces have a link");
  if (after.empty()) absl::StrAppend(&output.message, "; one read only, so no growth is known");
  return output;
}

}  // namespace galen::node
