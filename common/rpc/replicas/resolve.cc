#include "common/rpc/replicas/resolve.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <memory>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace galen::rpc {
namespace {

constexpr std::size_t kMostAddresses = 1'000;

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

TargetEndpoint EndpointOf(absl::string_view text) {
  TargetEndpoint endpoint{std::string(text), "", ""};
  // A name has one colon, before the port; IPv6 addresses and gRPC's own forms are not names.
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() != 2 || parts[0].empty() || !IsNumber(parts[1])) return endpoint;
  in_addr address;
  if (inet_pton(AF_INET, parts[0].c_str(), &address) == 1) return endpoint;
  endpoint.name = parts[0];
  endpoint.port = parts[1];
  return endpoint;
}

}  // namespace

absl::StatusOr<std::vector<TargetEndpoint>> EndpointsIn(absl::string_view target) {
  std::vector<TargetEndpoint> endpoints;
  for (const absl::string_view part : absl::StrSplit(target, ',')) {
    const absl::string_view text = absl::StripAsciiWhitespace(part);
    if (text.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", target,
          "\": an address is missing; give HOST:PORT, or several separated by commas"));
    }
    endpoints.push_back(EndpointOf(text));
  }
  return endpoints;
}

absl::StatusOr<std::vector<std::string>> Resolve(const TargetEndpoint& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int error = getaddrinfo(endpoint.name.c_str(), nullptr, &hints, &first); error != 0) {
    return absl::UnavailableError(absl::StrCat(endpoint.text, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first, &freeaddrinfo);
  std::set<std::string> addresses;
  for (const addrinfo* one = first; one != nullptr && addresses.size() < kMostAddresses;
       one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    addresses.insert(one->ai_family == AF_INET6 ? absl::StrCat("[", text, "]:", endpoint.port)
                                                : absl::StrCat(text, ":", endpoint.port));
  }
  if (addresses.empty()) return absl::UnavailableError(absl::StrCat(endpoint.text, ": no address"));
  return std::vector<std::string>(addresses.begin(), addresses.end());
}

}  // namespace galen::rpc
