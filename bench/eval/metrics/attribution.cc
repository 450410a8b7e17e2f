#include "bench/eval/metrics/attribution.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace galen::eval {
namespace {

// `place` is "node/device" with that device: "0000:41:00.0", "nic:mlx5_3", "nic:mlx5_3/port:1".
bool IsDevice(absl::string_view place, const std::set<std::string>& hosts,
              absl::string_view device) {
  const std::size_t slash = place.find('/');
  if (slash == absl::string_view::npos) return false;
  if (hosts.count(std::string(place.substr(0, slash))) == 0) return false;
  const absl::string_view named = place.substr(slash + 1);
  if (named == device) return true;
  const std::string network = absl::StrCat("nic:", device);
  return named == network || absl::StartsWith(named, absl::StrCat(network, "/"));
}

}  // namespace

void CountAttribution(const v1::Case& a_case, const v1::NamedCause& cause,
                      v1::Attribution& attribution) {
  std::set<std::string> hosts;
  std::set<std::string> devices;
  for (const std::string& faulty : a_case.faulty()) {
    const bool host =
        std::find(a_case.hosts().begin(), a_case.hosts().end(), faulty) != a_case.hosts().end();
    (host ? hosts : devices).insert(faulty);
  }
  std::set<std::string> named;
  for (const std::string& place : cause.places()) named.insert(place.substr(0, place.find('/')));
  if (!hosts.empty()) {
    attribution.set_hosts_judged(attribution.hosts_judged() + 1);
    if (named == hosts) attribution.set_hosts_right(attribution.hosts_right() + 1);
  }
  if (!devices.empty()) {
    attribution.set_devices_judged(attribution.devices_judged() + 1);
    const bool right = std::all_of(devices.begin(), devices.end(), [&](const auto& device) {
      return std::any_of(cause.places().begin(), cause.places().end(),
                         [&](const auto& place) { return IsDevice(place, hosts, device); });
    });
    if (right) attribution.set_devices_right(attribution.devices_right() + 1);
  }
}

}  // namespace galen::eval
