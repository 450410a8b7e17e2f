#include "services/node/checks/rdma/counters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/net/links.h"
#include "services/node/checks/rdma/netdevs.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// The largest plausible count; sums of many such counts do not overflow.
constexpr std::int64_t kMostCount = std::int64_t{1} << 56;

std::optional<std::int64_t> Credible(const std::optional<std::int64_t>& value) {
  return value.has_value() && *value >= 0 && *value <= kMostCount ? value : std::nullopt;
}

enum class Kind { kGrowth, kPerHour, kPerSecond, kTotal };

Kind KindOf(absl::string_view finding) {
  if (absl::EndsWith(finding, "_per_h")) return Kind::kPerHour;
  if (absl::EndsWith(finding, "_per_s")) return Kind::kPerSecond;
  return absl::EndsWith(finding, "_total") ? Kind::kTotal : Kind::kGrowth;
}

// How likely `count` events or more are where `expected` come on average (Poisson).
double ChanceOf(std::int64_t count, double expected) {
  if (expected <= 0) return 0;
  auto n = static_cast<double>(count);
  if (n <= expected) return 1;
  double term = std::exp(n * std::log(expected) - expected - std::lgamma(n + 1));
  double sum = 0;
  for (; term > sum * 1e-12; ++n) {
    sum += term;
    term *= expected / (n + 1);
  }
  return sum;
}

v1::Finding RateFinding(const Growth& growth, const std::string& node, const std::string& device,
                        std::int64_t grown, absl::Duration apart) {
  const double units = KindOf(growth.finding) == Kind::kPerHour ? absl::ToDoubleHours(apart)
                                                                : absl::ToDoubleSeconds(apart);
  if (units <= 0) return UnknownFinding(growth.finding, node, device);
  const double rate = static_cast<double>(grown) / units;
  // In a short window a few events may be chance, within the limit.
  if (rate > growth.limit && ChanceOf(grown, growth.limit * units) >= growth.chance) {
    v1::Finding unknown = UnknownFinding(growth.finding, node, device);
    unknown.set_expected(absl::StrCat("needs a longer window: ", grown, " within ",
                                      absl::FormatDuration(absl::Trunc(apart, absl::Seconds(1))),
                                      " may be chance"));
    return unknown;
  }
  return FloatFinding(growth.finding, node, device, rate);
}

// The sum of the counters since they began, by the later read.
std::optional<std::int64_t> Total(const Growth& growth, const PortCounters& before,
                                  const PortCounters& after) {
  std::optional<std::int64_t> sum;
  const PortCounters& read = after.empty() ? before : after;
  for (const std::string& name : growth.counters) {
    const auto it = read.find(name);
    if (it != read.end()) sum = sum.value_or(0) + it->second;
  }
  return sum;
}

// The counters of the port, from every source that has them.
PortCounters ReadAll(const host::Host& host, const RdmaPort& port,
                     const std::vector<Growth>& growths) {
  PortCounters counters = ReadCounters(host, port, growths);
  const std::string netdev = port.link_layer == "Ethernet" ? NetdevOf(host, port) : "";
  if (netdev.empty()) return counters;
  const auto text = Output(host, {"ethtool", "-S", netdev});
  if (!text.ok()) return counters;
  const auto statistics = ParseEthtoolStatistics(*text);
  if (!statistics.ok()) return counters;
  for (const Growth& growth : growths) {
    if (!growth.of_ethtool) continue;
    for (const std::string& name : growth.counters) {
      const auto it = statistics->find(name);
      if (it != statistics->end() && Credible(it->second)) counters[name] = it->second;
    }
  }
  return counters;
}

}  // namespace

absl::StatusOr<std::vector<Growth>> GrowthsOf(const knowledge::Knowledge& knowledge) {
  static constexpr absl::string_view kCheck = "rdma.counters";
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(knowledge, kCheck));
  std::vector<Growth> growths;
  const std::vector<std::string> of_ethtool = data.Texts("of_ethtool");
  std::map<std::string, std::int64_t> most;
  for (const std::vector<std::string>& list : data.Lists("saturated")) {
    std::int64_t value = 0;
    if (list.empty() || !absl::SimpleAtoi(list[0], &value)) continue;
    for (std::size_t i = 1; i < list.size(); ++i) most[list[i]] = value;
  }
  for (const knowledge::v1::FindingSpec& finding : knowledge.FindCheck(kCheck)->findings()) {
    Growth growth{.finding = finding.name(), .counters = data.Texts(finding.name())};
    if (growth.counters.empty()) continue;
    for (const std::string& name : growth.counters) {
      if (const auto it = most.find(name); it != most.end()) growth.most.insert(*it);
    }
    growth.of_ethtool =
        std::find(of_ethtool.begin(), of_ethtool.end(), growth.finding) != of_ethtool.end();
    const auto chance = data.Number(absl::StrCat(growth.finding, "_chance"));
    if (chance.ok() && absl::SimpleAtod(finding.abnormal().value(), &growth.limit)) {
      growth.chance = *chance;
    }
    growths.push_back(std::move(growth));
  }
  if (growths.empty()) {
    return absl::InternalError(
        "rdma.counters: the knowledge lists no counters; add them to `data:`");
  }
  return growths;
}

PortCounters ReadCounters(const host::Host& host, const RdmaPort& port,
                          const std::vector<Growth>& growths) {
  PortCounters counters;
  const std::string root =
      absl::StrCat("/sys/class/infiniband/", port.hca, "/ports/", port.number, "/");
  for (const Growth& growth : growths) {
    if (growth.of_ethtool) continue;
    for (const std::string& name : growth.counters) {
      for (const char* folder : {"counters/", "hw_counters/"}) {
        const auto line = FirstLine(host, absl::StrCat(root, folder, name));
        const auto value = line.ok() ? Credible(LeadingInt(*line)) : std::nullopt;
        if (!value.has_value()) continue;
        counters[name] = *value;
        break;
      }
    }
  }
  return counters;
}

std::optional<std::int64_t> Grown(const Growth& growth, const PortCounters& before,
                                  const PortCounters& after) {
  std::optional<std::int64_t> sum;
  bool saturated = false;
  for (const std::string& name : growth.counters) {
    const auto a = before.find(name);
    const auto b = after.find(name);
    if (a == before.end() || b == after.end()) continue;
    // A counter that went back was reset in between: how far it went is not known.
    if (b->second < a->second) return std::nullopt;
    const auto most = growth.most.find(name);
    saturated |= most != growth.most.end() && a->second == most->second;
    sum = sum.value_or(0) + (b->second - a->second);
  }
  // The missed events are unknown; the growth of the other counters is still valid.
  if (saturated && sum == 0) return std::nullopt;
  return sum;
}

void AddDeltas(const std::string& node, const std::string& device,
               const std::vector<Growth>& growths, const PortCounters& before,
               const PortCounters& after, absl::Duration apart, CheckOutput* output) {
  for (const Growth& growth : growths) {
    const Kind kind = KindOf(growth.finding);
    const std::optional<std::int64_t> count =
        kind == Kind::kTotal ? Total(growth, before, after) : Grown(growth, before, after);
    if (!count.has_value()) {
      output->findings.push_back(UnknownFinding(growth.finding, node, device));
    } else if (kind == Kind::kPerHour || kind == Kind::kPerSecond) {
      output->findings.push_back(RateFinding(growth, node, device, *count, apart));
    } else {
      output->findings.push_back(IntFinding(growth.finding, node, device, *count));
    }
  }
}

absl::StatusOr<CheckOutput> CheckRdmaCounters(const CheckContext& context) {
  const host::Host& host = context.host;
  GALEN_ASSIGN_OR_RETURN(const std::vector<Growth> growths, GrowthsOf(context.knowledge));
  GALEN_ASSIGN_OR_RETURN(const std::vector<RdmaPort> ports, ReadPorts(host));
  std::vector<PortCounters> before;
  // Reading takes time too, of many ports more than the window: each has its own interval.
  std::vector<absl::Time> read_at;
  for (const RdmaPort& port : ports) {
    before.push_back(ReadAll(host, port, growths));
    read_at.push_back(SteadyNow());
  }
  const absl::Time start = SteadyNow();
  absl::Duration apart;
  const absl::Duration window = absl::Seconds(context.parameters.Number("window"));
  if (host.live() && window > absl::ZeroDuration()) {
    const absl::Duration left = context.deadline - start - absl::Milliseconds(500);
    if (context.cancelled.SleepFor(
            std::clamp(window, absl::ZeroDuration(), std::max(left, absl::ZeroDuration())))) {
      return absl::CancelledError("cancelled");
    }
    apart = SteadyNow() - start;
  }
  CheckOutput output;
  std::int64_t grown = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortCounters after =
        apart > absl::ZeroDuration() ? ReadAll(host, ports[i], growths) : PortCounters();
    AddDeltas(host.name(), DeviceOf(ports[i]), growths, before[i], after,
              apart > absl::ZeroDuration() ? SteadyNow() - read_at[i] : apart, &output);
    for (const Growth& growth : growths) {
      if (KindOf(growth.finding) == Kind::kTotal) continue;
      grown += Grown(growth, before[i], after).value_or(0) > 0;
    }
    for (const auto& [name, value] : before[i]) {
      if (value == 0) continue;
      absl::StrAppend(&output.excerpt, DeviceOf(ports[i]), " ", name, " ", value, " since boot\n");
    }
  }
  output.message =
      apart > absl::ZeroDuration()
          ? absl::StrCat(grown, " of the watched counters grew within ",
                         absl::FormatDuration(absl::Trunc(apart, absl::Milliseconds(1))))
          : "one read only: totals since boot are known, their growth is not";
  return output;
}

}  // namespace galen::node
