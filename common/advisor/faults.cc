#include "common/advisor/faults.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/advisor/statistics.h"

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
    work_.push_back({workload, 1, failed ? 1U : 0U});
    return;
  }
  for (Work& each : work_) {
    --each.runs;
    each.failures = std::min(each.failures, each.runs);
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
  // Workloads that fail on it while the rest does not: each beside all others.
  for (const DeviceHistory::Work& work : history.work()) {
    if (work.failures == 0) continue;
    const double own = BinomialUpperTail(work.failures, work.runs, rate);
    const double apart = HypergeometricUpperTail(work.failures, work.runs, failures, runs);
    if (own < alpha && apart < alpha) verdict.workloads.push_back(work.workload);
  }
  std::int64_t rest_runs = runs;
  std::int64_t rest_failures = failures;
  for (const DeviceHistory::Work& work : history.work()) {
    if (std::find(verdict.workloads.begin(), verdict.workloads.end(), work.workload) !=
        verdict.workloads.end()) {
      rest_runs -= work.runs;
      rest_failures -= work.failures;
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
    // Failures that stopped, and never came back in as many runs as make that no accident.
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
  it->second.history.Add(workload, failed);
  it->second.context = context;
}

const DeviceHistory* FleetHistory::Find(absl::string_view node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second.history;
}

absl::flat_hash_map<std::uint32_t, FleetHistory::Sum> FleetHistory::Sums() const {
  absl::flat_hash_map<std::uint32_t, Sum> sums;
  for (const auto& [name, node] : nodes_) {
    Sum& sum = sums[node.context];
    sum.runs += node.history.runs();
    sum.failures += node.history.failures();
  }
  return sums;
}

double FleetHistory::RateBeside(const Node& node, const Sum& context) const {
  return (static_cast<double>(context.failures - node.history.failures()) + 0.5) /
         (static_cast<double>(context.runs - node.history.runs()) + 1);
}

double FleetHistory::RateBeside(absl::string_view name) const {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? 0.5 : RateBeside(it->second, Sums()[it->second.context]);
}

std::vector<FleetHistory::Lemon> FleetHistory::Lemons(double q, std::int64_t least_failures) const {
  const absl::flat_hash_map<std::uint32_t, Sum> sums = Sums();
  std::vector<std::pair<absl::string_view, const Node*>> nodes;
  for (const auto& [name, node] : nodes_) nodes.push_back({name, &node});
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<double> p_values;
  for (const auto& [name, node] : nodes) {
    // Fisher's test beside the others: where these are few, their own rate is uncertain, too.
    const Sum& all = sums.at(node->context);
    p_values.push_back(HypergeometricUpperTail(node->history.failures(), node->history.runs(),
                                               all.failures, all.runs));
  }
  const std::vector<bool> found = BenjaminiHochberg(p_values, q);
  std::vector<Lemon> lemons;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i].second;
    if (!found[i] || node.history.failures() < least_failures) continue;
    Lemon lemon{std::string(nodes[i].first), node.history.runs(), node.history.failures(),
                TellFault(node.history, RateBeside(node, sums.at(node.context)))};
    lemon.verdict.p = p_values[i];
    lemons.push_back(std::move(lemon));
  }
  std::stable_sort(lemons.begin(), lemons.end(),
                   [](const Lemon& a, const Lemon& b) { return a.verdict.p < b.verdict.p; });
  return lemons;
}

}  // namespace galen::advisor
