#include "common/security/loopback.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace galen::security {
namespace {

bool IsPort(absl::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

bool IsLoopbackHost(absl::string_view host) {
  const std::string text(host);
  if (text == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) >> 24) == 127;
  }
  in6_addr six{};
  return inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

bool IsLoopbackEndpoint(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "[")) {
    const std::size_t close = address.find(']');
    if (close == absl::string_view::npos) return false;
    absl::string_view rest = address.substr(close + 1);
    if (!rest.empty() && (!absl::ConsumePrefix(&rest, ":") || !IsPort(rest))) return false;
    return IsLoopbackHost(address.substr(0, close));
  }
  const std::size_t colon = address.find(':');
  // Two colons and no brackets: an IPv6 address without a port.
  if (colon != absl::string_view::npos && address.find(':', colon + 1) == absl::string_view::npos) {
    if (!IsPort(address.substr(colon + 1))) return false;
    address = address.substr(0, colon);
  }
  return IsLoopbackHost(address);
}

}  // namespace

bool IsLoopback(absl::string_view address) {
  for (const absl::string_view scheme : {"unix:", "unix-abstract:"}) {
    if (absl::StartsWith(address, scheme)) return true;
  }
  // A DNS target may name the server to ask: dns://SERVER/HOST:PORT.
  if (absl::ConsumePrefix(&address, "dns:")) {
    if (absl::ConsumePrefix(&address, "//")) {
      const std::size_t slash = address.find('/');
      if (slash == absl::string_view::npos) return false;
      address = address.substr(slash + 1);
    }
  } else if (!absl::ConsumePrefix(&address, "ipv4:")) {
    absl::ConsumePrefix(&address, "ipv6:");
  }
  for (const absl::string_view one : absl::StrSplit(address, ',')) {
    if (!IsLoopbackEndpoint(one)) return false;
  }
  return true;
}

}  // namespace galen::security
