// ip_addr, ip_link, ip_route: the text of `ip addr`, `ip link` and `ip route` of iproute2, with -s,
// -d, -o and -br too (ip(8)), as the JSON of `ip -j addr show`, `ip -j -s link show` and
// `ip -j route show`.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
namespace {

using nlohmann::json;

// The limits of the checks' parsers.
constexpr std::size_t kMostIpLinks = 4096;
constexpr std::size_t kMostIpRoutes = 100000;

std::optional<std::uint64_t> WholeNumber(absl::string_view word) {
  std::uint64_t value = 0;
  if (!IsNumber(word) || !absl::SimpleAtoi(word, &value)) return std::nullopt;
  return value;
}

// `ip -br` omits the scope, but the address implies it.
absl::string_view ScopeOfAddress(absl::string_view address) {
  if (absl::StartsWithIgnoreCase(address, "fe80:")) return "link";
  if (absl::StartsWith(address, "127.") || address == "::1") return "host";
  return "global";
}

// Collects the links of a list, line by line.
class IpLinkReader {
 public:
  // `addresses`: also read addresses.
  explicit IpLinkReader(bool addresses) : addresses_(addresses) {}

  void Line(absl::string_view line) {
    static const LazyRE2 kHeading = {
        R"(^\s*(\d{1,7}): ([^\s:@]+)(?:@([^\s:]+))?: <([A-Z0-9_,-]*)>\s*(.*)$)"};
    // "2: eth0    inet 192.0.2.7/24 brd 192.0.2.255 scope global eth0\       valid_lft forever"
    static const LazyRE2 kOneLine = {R"(^\s*(\d{1,7}): ([^\s:@]+)(?:@\S+)?\s+(inet6?) (.*)$)"};
    static const LazyRE2 kBrief = {
        R"(^\s*([A-Za-z0-9_.-]{1,15})(?:@\S+)?\s+(UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|TESTING|NOTPRESENT)(?:\s+(\S.*))?$)"};
    std::string number;
    std::string name;
    std::string other;
    std::string flags;
    std::string rest;
    if (RE2::FullMatch(Piece(line), *kHeading, &number, &name, &other, &flags, &rest)) {
      Heading(number, name, other, flags, rest);
    } else if (RE2::FullMatch(Piece(line), *kOneLine, &number, &name, &flags, &rest)) {
      json* const link = Named(name);
      if (link == nullptr) return;
      if (const auto index = WholeNumber(number)) (*link)["ifindex"] = *index;
      Address(flags, PastedWords(rest.substr(0, rest.find('\\'))), link);
    } else if (RE2::FullMatch(Piece(line), *kBrief, &name, &other, &rest)) {
      Brief(name, other, PastedWords(rest));
    } else if (current_ != nullptr) {
      Detail(PastedWords(line));
    }
  }

  // Sets `loopback` if the list has the loopback interface, as every complete list does.
  json Take(bool* loopback) {
    *loopback = false;
    json list = json::array();
    for (json& link : links_) {
      *loopback |= link["ifname"] == "lo";
      // If no address is listed at all, grep removed them: they are unknown, not missing.
      if (any_address_ && !link.contains("addr_info")) link["addr_info"] = json::array();
      list.push_back(std::move(link));
    }
    return list;
  }

 private:
  json* Named(const std::string& name) {
    const auto [place, is_new] = by_name_.try_emplace(name, links_.size());
    if (is_new) {
      if (links_.size() == kMostIpLinks) return nullptr;
      links_.push_back({{"ifname", name}});
    }
    return place->second < links_.size() ? &links_[place->second] : nullptr;
  }

  void Heading(const std::string& number, const std::string& name, const std::string& other,
               const std::string& flags, const std::string& rest) {
    counts_ = "";
    const bool known = by_name_.contains(name);
    current_ = known ? nullptr : Named(name);  // the same link again is another reading
    if (current_ == nullptr) return;
    json& link = *current_;
    if (const auto index = WholeNumber(number)) link["ifindex"] = *index;
    if (!other.empty()) link["link"] = other;
    link["flags"] = json::array();
    for (const absl::string_view flag : absl::StrSplit(flags, ',', absl::SkipEmpty())) {
      link["flags"].push_back(std::string(flag));
    }
    // -o joins the lines of a link.
    const std::vector<absl::string_view> parts = absl::StrSplit(rest, '\\');
    Settings(PastedWords(parts[0]), link);
    for (std::size_t i = 1; i < parts.size(); ++i) Detail(PastedWords(parts[i]));
  }

  // "mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000".
  static void Settings(const std::vector<absl::string_view>& words, json& link) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const std::string value(words[i + 1]);
      if (words[i] == "mtu" || words[i] == "qlen") {
        if (const auto count = WholeNumber(value)) {
          link[words[i] == "mtu" ? "mtu" : "txqlen"] = *count;
        }
      } else if (words[i] == "state") {
        link["operstate"] = value;
      } else if (words[i] == "mode") {
        link["linkmode"] = value;
      } else if (words[i] == "qdisc" || words[i] == "master" || words[i] == "group") {
        link[std::string(words[i])] = value;
      } else {
        continue;
      }
      ++i;
    }
  }

  void Detail(const std::vector<absl::string_view>& words) {
    if (words.empty()) return;
    absl::string_view kind = words[0];
    json& link = *current_;
    if (absl::ConsumePrefix(&kind, "link/")) {
      link["link_type"] = std::string(kind);
      if (words.size() > 1) link["address"] = std::string(words[1]);
      if (words.size() > 3 && words[2] == "brd") link["broadcast"] = std::string(words[3]);
    } else if (kind == "inet" || kind == "inet6") {
      Address(kind, {words.begin() + 1, words.end()}, current_);
    } else if (kind == "RX:" || kind == "TX:") {
      counts_ = kind == "RX:" ? "rx" : "tx";
      columns_ = std::vector<std::string>(words.begin() + 1, words.end());
    } else if (!counts_.empty()) {
      Counts(words);
    }
  }

  // "RX: bytes packets errors dropped missed mcast", and their numbers on the next line.
  void Counts(const std::vector<absl::string_view>& words) {
    const std::string side = std::exchange(counts_, "");
    if (words.size() != columns_.size()) return;
    static const auto* const names = new absl::flat_hash_map<absl::string_view, absl::string_view>{
        {"bytes", "bytes"},     {"packets", "packets"},        {"errors", "errors"},
        {"dropped", "dropped"}, {"overrun", "over_errors"},    {"missed", "missed_errors"},
        {"mcast", "multicast"}, {"carrier", "carrier_errors"}, {"collsns", "collisions"}};
    json& counts = (*current_)["stats64"][side];
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto known = names->find(columns_[i]);
      const auto count = WholeNumber(words[i]);
      if (known != names->end() && count.has_value()) counts[std::string(known->second)] = *count;
    }
  }

  // "192.0.2.7/24 brd 192.0.2.255 scope global dynamic eth0".
  void Address(absl::string_view family, const std::vector<absl::string_view>& words, json* link) {
    if (!addresses_ || words.empty()) return;
    any_address_ = true;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(words[0], absl::MaxSplits('/', 1));
    json address = {{"family", std::string(family)}, {"local", std::string(parts.first)}};
    if (const auto bits = WholeNumber(parts.second)) address["prefixlen"] = *bits;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      if (words[i] == "brd") address["broadcast"] = std::string(words[i + 1]);
      if (words[i] == "scope") address["scope"] = std::string(words[i + 1]);
    }
    if (!address.contains("scope")) address["scope"] = std::string(ScopeOfAddress(parts.first));
    (*link)["addr_info"].push_back(std::move(address));
  }

  // "eth0@if12  UP  192.0.2.7/24 fe80::1/64", and of links "lo  UNKNOWN  00:00:... <LOOPBACK,UP>".
  void Brief(const std::string& name, const std::string& state,
             const std::vector<absl::string_view>& words) {
    current_ = nullptr;
    if (by_name_.contains(name)) return;
    json* const link = Named(name);
    if (link == nullptr) return;
    (*link)["operstate"] = state;
    for (absl::string_view word : words) {
      if (absl::StrContains(word, '/')) {
        Address(absl::StrContains(word, ':') ? "inet6" : "inet", {word}, link);
      } else if (absl::ConsumePrefix(&word, "<") && absl::ConsumeSuffix(&word, ">")) {
        (*link)["flags"] = json::array();
        for (const absl::string_view flag : absl::StrSplit(word, ',', absl::SkipEmpty())) {
          (*link)["flags"].push_back(std::string(flag));
        }
      }
    }
  }

  const bool addresses_;
  std::vector<json> links_ = [] {
    std::vector<json> links;
    links.reserve(kMostIpLinks);  // pointers into it stay
    return links;
  }();
  absl::flat_hash_map<std::string, std::size_t> by_name_;
  json* current_ = nullptr;
  std::string counts_;  // "rx" or "tx": its numbers are on the next line
  std::vector<std::string> columns_;
  bool any_address_ = false;
};

absl::StatusOr<Converted> ConvertIpLinks(absl::string_view form, bool addresses,
                                         absl::string_view text, absl::string_view command) {
  IpLinkReader reader(addresses);
  for (const absl::string_view line : PastedLines(text)) reader.Line(line);
  bool loopback = false;
  const json list = reader.Take(&loopback);
  if (list.empty()) return Unreadable(form, "no line describes a network interface");
  Converted converted;
  converted.text = list.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  converted.partial = !loopback || TypedCommand(command, "ip").filtered();
  return converted;
}

// "default via 192.0.2.1 dev eth0 proto dhcp metric 100"; discarded for another line.
json ReadIpRoute(absl::string_view line) {
  static const LazyRE2 kRoute = {
      R"(^\s*(?:(unicast|unreachable|blackhole|prohibit|throw|local|broadcast|multicast|anycast|nat) )?(default|[0-9a-fA-F]*[.:][0-9a-fA-F.:]*(?:/\d{1,3})?)(?:\s+(.*))?$)"};
  std::string type;
  std::string destination;
  std::string rest;
  json route(json::value_t::discarded);
  if (!RE2::FullMatch(Piece(line), *kRoute, &type, &destination, &rest)) return route;
  const std::vector<absl::string_view> words = PastedWords(rest);
  // A lone address is not a route, unless a type such as "blackhole" precedes it.
  if (type.empty() && words.size() < 2) return route;
  route = json::object();
  if (!type.empty()) route["type"] = type;
  route["dst"] = destination;
  route["flags"] = json::array();
  bool any = !type.empty();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    const std::string next = i + 1 < words.size() ? std::string(words[i + 1]) : std::string();
    if (word == "linkdown" || word == "dead" || word == "onlink" || word == "pervasive") {
      route["flags"].push_back(std::string(word));
    } else if (word == "via" && (next == "inet6" || next == "inet") && i + 2 < words.size()) {
      route["via"] = {{"family", next}, {"host", std::string(words[i + 2])}};
      any = true;
      i += 2;
    } else if (word == "via" || word == "dev" || word == "proto" || word == "scope" ||
               word == "src" || word == "table") {
      route[word == "via"     ? "gateway"
            : word == "proto" ? "protocol"
            : word == "src"   ? "prefsrc"
                              : std::string(word)] = next;
      // The next hops of a multipath route follow on lines of their own.
      any |= word == "via" || word == "dev" || word == "proto";
      ++i;
    } else if (word == "metric") {
      if (const auto metric = WholeNumber(next)) route["metric"] = *metric;
      ++i;
    }
  }
  if (!any) return json(json::value_t::discarded);
  return route;
}

}  // namespace

absl::StatusOr<Converted> IpAddress(absl::string_view text, absl::string_view command) {
  return ConvertIpLinks("ip_addr", /*addresses=*/true, text, command);
}

absl::StatusOr<Converted> IpLink(absl::string_view text, absl::string_view command) {
  return ConvertIpLinks("ip_link", /*addresses=*/false, text, command);
}

absl::StatusOr<Converted> IpRoute(absl::string_view text, absl::string_view command) {
  json list = json::array();
  bool any_default = false;
  for (const absl::string_view line : PastedLines(text)) {
    const std::vector<absl::string_view> words = PastedWords(line);
    // The next hops of a multipath route follow it.
    if (!list.empty() && !words.empty() && words[0] == "nexthop") {
      json hop = json::object();
      for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
        if (words[i] == "via") hop["gateway"] = std::string(words[i + 1]);
        if (words[i] == "dev") hop["dev"] = std::string(words[i + 1]);
      }
      list.back()["nexthops"].push_back(std::move(hop));
      continue;
    }
    json route = ReadIpRoute(line);
    if (!route.is_object() || list.size() == kMostIpRoutes) continue;
    // `ip route show` prints only the main table.
    const auto table = route.find("table");
    if (table != route.end() && *table != "main") continue;
    any_default |= route["dst"] == "default";
    list.push_back(std::move(route));
  }
  if (list.empty()) return Unreadable("ip_route", "no line describes a route");
  const TypedCommand typed(command, "ip");
  Converted converted;
  converted.text = list.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  converted.partial = !any_default || typed.filtered() || typed.Has("get");
  return converted;
}

}  // namespace galen::intake
