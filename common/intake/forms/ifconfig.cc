// ifconfig: `ifconfig` of net-tools, before and since 2.0, and of BusyBox (ifconfig(8)), as the
// JSON of `ip -j addr show`, with the counters of `ip -j -s link show`.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

using IfJson = nlohmann::json;

constexpr std::size_t kMostInterfaces = 4096;

// 24 of "255.255.255.0"; -1 for another word.
int BitsOfMask(absl::string_view mask) {
  std::uint32_t bits = 0;
  const std::vector<absl::string_view> parts = absl::StrSplit(mask, '.');
  if (parts.size() != 4) return -1;
  for (const absl::string_view part : parts) {
    std::uint32_t byte = 0;
    if (!IsNumber(part) || !absl::SimpleAtoi(part, &byte) || byte > 255) return -1;
    bits = bits << 8 | byte;
  }
  int ones = 0;
  while (ones < 32 && (bits >> (31 - ones) & 1) != 0) ++ones;
  return ones;
}

// The flags as ip names them. ip prints LOWER_UP for RUNNING, and NO-CARRIER for an interface that
// is up and not running.
IfJson FlagsOfIp(const std::vector<absl::string_view>& flags) {
  IfJson list = IfJson::array();
  bool up = false;
  bool running = false;
  for (const absl::string_view flag : flags) {
    up |= flag == "UP";
    running |= flag == "RUNNING";
    if (flag != "RUNNING") list.push_back(std::string(flag));
  }
  if (running) list.push_back("LOWER_UP");
  if (up && !running) list.push_back("NO-CARRIER");
  return list;
}

absl::string_view KindOfLink(absl::string_view line) {
  if (absl::StrContains(line, "Ethernet")) return "ether";
  if (absl::StrContains(line, "InfiniBand")) return "infiniband";
  if (absl::StrContains(line, "Local Loopback")) return "loopback";
  return "";
}

class IfconfigReader {
 public:
  void Line(absl::string_view line) {
    // "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500"
    static const LazyRE2 kNew = {R"(^\s*([^\s:]+): flags=\d+<([A-Z0-9_,-]*)>\s+mtu (\d{1,9})$)"};
    // "eth0      Link encap:Ethernet  HWaddr 02:42:ac:11:00:02"
    static const LazyRE2 kOld = {R"(^\s*(\S+)\s+Link encap:.*$)"};
    std::string name;
    std::string flags;
    std::uint64_t mtu = 0;
    if (RE2::FullMatch(Piece(line), *kNew, &name, &flags, &mtu)) {
      Begin(name);
      if (at_ == nullptr) return;
      (*at_)["flags"] = FlagsOfIp(absl::StrSplit(flags, ',', absl::SkipEmpty()));
      (*at_)["mtu"] = mtu;
    } else if (RE2::FullMatch(Piece(line), *kOld, &name)) {
      Begin(name);
      Kind(line);
    } else if (at_ != nullptr) {
      Detail(line);
    }
  }

  IfJson& list() { return list_; }

 private:
  void Begin(const std::string& name) {
    at_ = nullptr;
    // net-tools lists a second address of eth0 as "eth0:1".
    const std::string device = name.substr(0, name.find(':'));
    if (device == last_ && !list_.empty()) {
      at_ = &list_.back();
      return;
    }
    if (device.empty() || list_.size() == kMostInterfaces) return;
    last_ = device;
    list_.push_back({{"ifname", device}, {"addr_info", IfJson::array()}});
    at_ = &list_.back();
  }

  void Kind(absl::string_view line) {
    const absl::string_view kind = KindOfLink(line);
    if (at_ != nullptr && !kind.empty()) (*at_)["link_type"] = std::string(kind);
  }

  void Detail(absl::string_view line) {
    const std::vector<absl::string_view> words = PastedWords(line);
    if (words.empty()) return;
    if (words[0] == "inet" && words.size() > 1) {
      Ipv4(words);
    } else if (words[0] == "inet6" && words.size() > 1) {
      Ipv6(words);
    } else if (words[0] == "ether" || words[0] == "loop" || words[0] == "infiniband" ||
               words[0] == "unspec") {
      Kind(line);
      if (words[0] == "ether" && words.size() > 1) (*at_)["address"] = std::string(words[1]);
    } else if (words[0] == "RX" || words[0] == "TX") {
      Counts(words[0] == "RX" ? "rx" : "tx", line);
    } else if (absl::StrContains(line, "MTU:")) {
      OldFlags(words);
    }
  }

  // "inet 192.0.2.7  netmask 255.255.255.0", and before "inet addr:192.0.2.7  Mask:255.255.255.0".
  void Ipv4(const std::vector<absl::string_view>& words) {
    absl::string_view local = words[1];
    absl::ConsumePrefix(&local, "addr:");
    IfJson address = {{"family", "inet"}, {"local", std::string(local)}};
    address["scope"] = absl::StartsWith(local, "127.") ? "host" : "global";
    for (std::size_t i = 2; i < words.size(); ++i) {
      absl::string_view mask = words[i];
      const bool is_mask =
          absl::ConsumePrefix(&mask, "Mask:") || (words[i - 1] == "netmask" && !mask.empty());
      if (const int bits = is_mask ? BitsOfMask(mask) : -1; bits >= 0) address["prefixlen"] = bits;
    }
    (*at_)["addr_info"].push_back(std::move(address));
  }

  // "inet6 fe80::1  prefixlen 64  scopeid 0x20<link>", before "inet6 addr: fe80::1/64 Scope:Link".
  void Ipv6(const std::vector<absl::string_view>& words) {
    const bool old = words[1] == "addr:" && words.size() > 2;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(words[old ? 2 : 1], absl::MaxSplits('/', 1));
    IfJson address = {{"family", "inet6"}, {"local", std::string(parts.first)}};
    address["scope"] = absl::StartsWithIgnoreCase(parts.first, "fe80:") ? "link"
                       : parts.first == "::1"                           ? "host"
                                                                        : "global";
    (*at_)["addr_info"].push_back(std::move(address));
  }

  // "          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1"
  void OldFlags(const std::vector<absl::string_view>& words) {
    std::vector<absl::string_view> flags;
    for (absl::string_view word : words) {
      std::uint64_t mtu = 0;
      if (absl::ConsumePrefix(&word, "MTU:")) {
        if (IsNumber(word) && absl::SimpleAtoi(word, &mtu)) (*at_)["mtu"] = mtu;
        break;
      }
      flags.push_back(word);
    }
    (*at_)["flags"] = FlagsOfIp(flags);
  }

  // "RX errors 0  dropped 12  overruns 0  frame 0", before "RX packets:9 errors:0 dropped:12".
  void Counts(const char* side, absl::string_view line) {
    static const LazyRE2 kCount = {R"((packets|bytes|errors|dropped)[ :](\d{1,18}))"};
    re2::StringPiece rest = Piece(line);
    std::string name;
    std::uint64_t count = 0;
    while (RE2::FindAndConsume(&rest, *kCount, &name, &count)) {
      (*at_)["stats64"][side][name] = count;
    }
  }

  IfJson list_ = IfJson::array();
  IfJson* at_ = nullptr;
  std::string last_;
};

}  // namespace

absl::StatusOr<Converted> InterfaceConfig(absl::string_view text, absl::string_view command) {
  IfconfigReader reader;
  for (const absl::string_view line : PastedLines(text)) reader.Line(line);
  const IfJson& list = reader.list();
  if (list.empty()) return Unreadable("ifconfig", "no line describes a network interface");
  bool loopback = false;
  for (const IfJson& one : list) loopback |= one["ifname"] == "lo";
  const TypedCommand typed(command, "ifconfig");
  Converted converted;
  converted.text = list.dump(-1, ' ', false, IfJson::error_handler_t::replace) + "\n";
  // Without -a, ifconfig leaves out interfaces that are down.
  converted.partial = !loopback || typed.filtered() || !typed.Has("-a");
  return converted;
}

}  // namespace galen::intake
