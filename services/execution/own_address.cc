#include "services/execution/own_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::execution {
namespace {

using Ip = std::array<unsigned char, 16>;

constexpr int kMappedBits = 96;  // before an address of IPv4 within IPv6

std::optional<Ip> ParseIp(absl::string_view text) {
  const std::string ip(text);
  Ip bytes{};
  in_addr four{};
  if (inet_pton(AF_INET, ip.c_str(), &four) == 1) {
    bytes[10] = bytes[11] = 0xff;
    std::memcpy(bytes.data() + 12, &four, sizeof(four));
    return bytes;
  }
  if (inet_pton(AF_INET6, ip.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

bool Begins(const Ip& ip, const Ip& begin, int bits) {
  for (int i = 0; i < bits; ++i) {
    const auto byte = static_cast<std::size_t>(i / 8);
    const int mask = 0x80 >> (i % 8);
    if ((ip[byte] & mask) != (begin[byte] & mask)) return false;
  }
  return true;
}

bool IsIn(const Ip& ip, absl::string_view network) {
  const absl::StatusOr<Network> parsed = ParseNetwork(network);
  return parsed.ok() && Begins(ip, parsed->begin, parsed->bits);
}

bool IsLoopback(const Ip& ip) { return IsIn(ip, "127.0.0.0/8") || IsIn(ip, "::1/128"); }
// Addresses that are valid only on the machine itself: elsewhere they name something else.
bool IsLocal(const Ip& ip) {
  return IsLoopback(ip) || IsIn(ip, "169.254.0.0/16") || IsIn(ip, "fe80::/10") ||
         IsIn(ip, "0.0.0.0/8") || IsIn(ip, "::/128") || IsIn(ip, "224.0.0.0/4") ||
         IsIn(ip, "ff00::/8");
}

std::string Shown(const Ip& ip, absl::string_view port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IsIn(ip, "::ffff:0:0/96")) {
    inet_ntop(AF_INET, ip.data() + 12, text.data(), text.size());
    return absl::StrCat(text.data(), ":", port);
  }
  inet_ntop(AF_INET6, ip.data(), text.data(), text.size());
  return absl::StrCat("[", text.data(), "]:", port);
}

// Host and port of "HOST:PORT" or "[IPV6]:PORT".
std::pair<absl::string_view, absl::string_view> Split(absl::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == address.npos) return {address, ""};
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {host, address.substr(colon + 1)};
}

std::optional<Ip> CallerIp(absl::string_view caller) {
  if (caller.empty() || absl::StartsWith(caller, "unix")) return ParseIp("127.0.0.1");
  if (!absl::ConsumePrefix(&caller, "ipv4:") && !absl::ConsumePrefix(&caller, "ipv6:")) {
    return std::nullopt;
  }
  // Newer releases of gRPC write the brackets as a URI has to.
  const std::string plain = absl::StrReplaceAll(
      caller, {{"%5B", "["}, {"%5D", "]"}, {"%5b", "["}, {"%5d", "]"}, {"%25", "%"}});
  absl::string_view host = Split(plain).first;
  return ParseIp(host.substr(0, host.find('%')));
}

}  // namespace

absl::StatusOr<Network> ParseNetwork(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  const std::optional<Ip> begin = ParseIp(parts.first);
  const bool is_four = !absl::StrContains(parts.first, ':');
  int bits = 0;
  if (!begin || !absl::SimpleAtoi(parts.second, &bits) || bits < 0 || bits > (is_four ? 32 : 128)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", CleanText(text, 80), "\" is not a network, as in 10.4.0.0/16"));
  }
  return Network{*begin, is_four ? kMappedBits + bits : bits};
}

absl::StatusOr<std::string> OwnAddress(absl::string_view address, absl::string_view caller,
                                       const std::vector<Network>& networks) {
  const auto [host, port] = Split(address);
  const std::optional<Ip> own = CallerIp(caller);
  const absl::Status denied = absl::PermissionDeniedError(absl::StrCat(
      "address ", CleanText(address, 300), ": is not that of the caller (", CleanText(caller, 80),
      "); a node registers where it calls from, or within execution's --node_networks"));
  if (!own) return denied;
  const std::optional<Ip> named = ParseIp(host);
  if (!named || *named == *own) return Shown(*own, port);
  if (IsLoopback(*own) && IsLoopback(*named)) return Shown(*named, port);
  if (IsLocal(*named)) return denied;
  const bool known = std::any_of(networks.begin(), networks.end(), [&](const Network& network) {
    return Begins(*named, network.begin, network.bits);
  });
  if (known) return Shown(*named, port);
  return denied;
}

}  // namespace galen::execution
