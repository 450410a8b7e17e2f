#include "services/execution/membership_view.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text.h"

namespace galen::execution {
namespace {

constexpr absl::string_view kReplica = "execution/";
constexpr std::size_t kMostName = 253;
constexpr std::size_t kMostAddress = 300;
constexpr absl::Duration kDefaultTtl = absl::Seconds(30);

bool IsHostName(absl::string_view text) {
  return !text.empty() && text.size() <= kMostName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ||
                  c == '_';
         });
}

// Not the other forms that gRPC takes ("unix:...", "dns:///..."): a node must not choose those.
bool IsAddress(absl::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (text.size() > kMostAddress || colon == text.npos) return false;
  const absl::string_view digits = text.substr(colon + 1);
  int port = 0;
  if (digits.empty() || digits.size() > 5 ||
      digits.find_first_not_of("0123456789") != digits.npos || !absl::SimpleAtoi(digits, &port) ||
      port < 1 || port > 65535) {
    return false;
  }
  absl::string_view host = text.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) {
    return absl::ConsumeSuffix(&host, "]") && !host.empty() &&
           host.find_first_not_of("0123456789abcdefABCDEF:.") == host.npos;
  }
  return IsHostName(host);
}

}  // namespace

std::string ReplicaName(absl::string_view address) { return absl::StrCat(kReplica, address); }

MembershipView ViewOf(const std::vector<store::NodeEntry>& entries, absl::Time now) {
  MembershipView view;
  for (const store::NodeEntry& entry : entries) {
    if (entry.expires <= now || !IsAddress(entry.record)) continue;
    if (entry.name == ReplicaName(entry.record)) {
      view.replicas.push_back(entry.record);
    } else if (IsHostName(entry.name)) {
      view.nodes[entry.name] = entry.record;
    }
  }
  std::sort(view.replicas.begin(), view.replicas.end());
  return view;
}

absl::Status CheckRegistration(absl::string_view node, absl::string_view address) {
  if (!IsHostName(node)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "node \"", CleanText(node, 64),
        "\": is not a host name (letters, digits, '.', '-' and '_', at most 253 of them)"));
  }
  if (!IsAddress(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node, ": address \"", CleanText(address, 64), "\" is not HOST:PORT"));
  }
  return absl::OkStatus();
}

absl::Duration TimeToLive(absl::Duration asked) {
  if (asked <= absl::ZeroDuration()) return kDefaultTtl;
  return std::clamp(asked, absl::Seconds(1), absl::Minutes(10));
}

}  // namespace galen::execution
