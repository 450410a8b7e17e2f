#include "services/advisor/learning/faults.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/advisor/learning/statistics.h"

namespace galen::advisor {
namespace {

// Runs without a failure after the last one, before it is called transient.
constexpr int kCleanRuns = 3;
constexpr std::int64_t kLeastRuns = 4;

}  // namespace

absl::string_view ToString(FaultKind kind) {
  switch (kind) {
    case FaultKind::kUnknown:
      return "unknown";
    case FaultKind::kHealthy:
      return "healthy";
    case FaultKind::kTransient:
      return "transient";
    case FaultKind::kGray:
      return "gray";
    case FaultKind::kPersistent:
      return "persistent";
  }
  return "unknown";
}

void DeviceHistory::Add(std::uint32_t workload, bool failed) {
  ++runs_;
  failures_ += failed;
  last_ = (last_ << 1) | static_cast<std::uint64_t>(failed);
  for (Work& each : work_) {
    if (each.workload != workload) continue;
    ++each.runs;
    each.failures += failed;
    return;
  }
  if (work_.size() < kMost) {
    work_.push_back({workload, 1, failed ? 1.0 : 0.0});
    return;
  }
  for (Work& each : work_) {
    each.failures *= static_cast<double>(each.runs - 1) / static_cast<double>(each.runs);
    --each.runs;
  }
  work_.erase(
      std::remove_if(work_.begin(), work_.end(), [](const Work& each) { return each.runs == 0; }),
      work_.end());
}

FaultVerdict TellFault(const DeviceHistory& history, double fleet_rate, double alpha) {
  FaultVerdict verdict;
  const std::int64_t runs = history.runs();
  const std::int64_t failures = history.failures();
  const double rate = std::clamp(fleet_rate, 1e-9, 1.0);
  verdict.p = BinomialUpperTail(failures, runs, rate);
  const std::string counts = absl::StrFormat("%d of %d runs failed on it, %.3g were to be expected",
                                             failures, runs, rate * static_cast<double>(runs));
  if (failures == 0) {
    verdict.kind = runs >= kLeastRuns ? FaultKind::kHealthy : FaultKind::kUnknown;
    verdict.reason = counts;
    return verdict;
  }
  const int clean = std::countr_zero(history.last());
  // Workloads that fail on it while the rest does not: each compared with all others.
  for (const DeviceHistory::Work& work : history.work()) {
    const std::int64_t failed = std::llround(work.failures);
    if (failed == 0) continue;
    const double own = BinomialUpperTail(failed, work.runs, rate);
    const double apart = HypergeometricUpperTail(failed, work.runs, failures, runs);
    if (own < alpha && apart < alpha) verdict.workloads.push_back(work.workload);
  }
  std::int64_t rest_runs = runs;
  std::int64_t rest_failures = failures;
  for (const DeviceHistory::Work& work : history.work()) {
    if (std::find(verdict.workloads.begin(), verdict.workloads.end(), work.workload) !=
        verdict.workloads.end()) {
      rest_runs -= work.runs;
      rest_failures -= std::llround(work.failures);
    }
  }
  const bool rest_is_fine = BinomialUpperTail(rest_failures, rest_runs, rate) >= alpha;
  if (!verdict.workloads.empty() && rest_is_fine && rest_runs >= kLeastRuns) {
    verdict.kind = FaultKind::kGray;
    verdict.reason = absl::StrFormat("%s, all but %d with %d workloads; with others it works",
                                     counts, rest_failures, verdict.workloads.size());
    return verdict;
  }
  verdict.workloads.clear();
  if (verdict.p < alpha && failures >= 2) {
    // Failures that stopped, and have not returned in enough runs to exclude chance.
    const double again = static_cast<double>(failures) /
                         static_cast<double>(std::max<std::int64_t>(1, runs - clean));
    if (clean >= 64 || (clean > 0 && std::pow(1 - std::min(again, 0.999), clean) < alpha)) {
      verdict.kind = FaultKind::kTransient;
      verdict.reason = absl::StrCat(counts, "; none of the last ", clean, " did");
    } else {
      verdict.kind = FaultKind::kPersistent;
      verdict.reason = absl::StrCat(counts, ", whatever ran on it");
    }
    return verdict;
  }
  if (clean >= kCleanRuns) {
    verdict.kind = FaultKind::kTransient;
    verdict.reason = absl::StrCat(counts, "; none of the last ", clean, " did");
  } else {
    verdict.reason = absl::StrCat(counts, ", and ", clean, " runs since: too few to tell");
  }
  return verdict;
}

void FleetHistory::Add(absl::string_view node, std::uint32_t context, std::uint32_t workload,
                       bool failed) {
  if (node.empty()) return;
  auto it = nodes_.find(node);
  if (it == nodes_.end()) {
    if (nodes_.size() >= most_) {
      ++left_out_;
      return;
    }
    it = nodes_.try_emplace(std::string(node)).first;
  }
  Node& of = it->second;
  of.history.Add(workload, failed);
  const auto same = std::find_if(of.contexts.begin(), of.contexts.end(),
                                 [&](const auto& each) { return each.first == context; });
  if (same != of.contexts.end()) {
    std::rotate(same, same + 1, of.contexts.end());
  } else {
    if (of.contexts.size() == kMostContexts) of.contexts.erase(of.contexts.begin());
    of.contexts.push_back({context, {}});
  }
  Sum& sum = of.contexts.back().second;
  ++sum.runs;
  sum.failures += failed;
}

const DeviceHistory* FleetHistory::Find(absl::string_view node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second.history;
}

FleetHistory::Sums FleetHistory::SumsOfContexts() const {
  Sums sums;
  for (const auto& [name, node] : nodes_) {
    for (const auto& [context, own] : node.contexts) {
      Sum& sum = sums[context];
      sum.runs += own.runs;
      sum.failures += own.failures;
    }
  }
  return sums;
}

double FleetHistory::RateBeside(const Node& node, const Sums& sums) {
  double runs = 0;
  double expected = 0;
  for (const auto& [context, own] : node.contexts) {
    const Sum& all = sums.at(context);
    runs += static_cast<double>(own.runs);
    expected += static_cast<double>(own.runs) *
                (static_cast<double>(all.failures - own.failures) + 0.5) /
                (static_cast<double>(all.runs - own.runs) + 1);
  }
  return expected / runs;
}

double FleetHistory::TailBeside(const Node& node, const Sums& sums) {
  // Fisher's test against the others: if these are few, their own rate is uncertain, too.
  std::vector<Draw> draws;
  std::int64_t failures = 0;
  for (const auto& [context, own] : node.contexts) {
    const Sum& all = sums.at(context);
    draws.push_back({own.runs, all.failures, all.runs});
    failures += own.failures;
  }
  return HypergeometricUpperTail(failures, draws);
}

double FleetHistory::RateBeside(absl::string_view name) const {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? 0.5 : RateBeside(it->second, SumsOfContexts());
}

std::vector<FleetHistory::Lemon> FleetHistory::Lemons(double q, std::int64_t least_failures) const {
  const Sums sums = SumsOfContexts();
  std::vector<std::pair<absl::string_view, const Node*>> nodes;
  for (const auto& [name, node] : nodes_) nodes.push_back({name, &node});
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<double> p_values;
  p_values.reserve(nodes.size());
  for (const auto& [name, node] : nodes) p_values.push_back(TailBeside(*node, sums));
  const std::vector<bool> found = BenjaminiHochberg(p_values, q);
  std::vector<Lemon> lemons;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i].second;
    if (!found[i] || node.history.failures() < least_failures) continue;
    Lemon lemon{std::string(nodes[i].first), node.history.runs(), node.history.failures(),
                TellFault(node.history, RateBeside(node, sums))};
    lemon.verdict.p = p_values[i];
    lemons.push_back(std::move(lemon));
  }
  std::stable_sort(lemons.begin(), lemons.end(),
                   [](const Lemon& a, const Lemon& b) { return a.verdict.p < b.verdict.p; });
  return lemons;
}

}  // namespace galen::advisor
