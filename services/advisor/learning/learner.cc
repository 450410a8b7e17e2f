#include "services/advisor/learning/learner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/crypto/sha256.h"
#include "services/advisor/learning/context.h"
#include "services/advisor/learning/signature.h"
#include "services/advisor/learning/statistics.h"

namespace galen::advisor {
namespace {

std::uint8_t Power(double value, double base) {
  if (!(value >= 1)) return 0;
  return static_cast<std::uint8_t>(
      std::min(15.0, 1 + std::floor(std::log(value) / std::log(base))));
}

std::uint64_t HashOf(absl::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

// Most significant first; those of one archetype and context count as one.
std::vector<LearnedMismatch> OneOfEach(std::vector<LearnedMismatch> found) {
  std::stable_sort(found.begin(), found.end(),
                   [](const LearnedMismatch& a, const LearnedMismatch& b) {
                     return a.evidence.p < b.evidence.p;
                   });
  std::vector<LearnedMismatch> each;
  std::map<std::string, std::size_t> places;  // by id
  for (LearnedMismatch& mismatch : found) {
    const auto [it, is_new] = places.emplace(mismatch.id, each.size());
    if (is_new) {
      each.push_back(std::move(mismatch));
      continue;
    }
    std::vector<std::string>& stacks = each[it->second].stacks;
    stacks.insert(stacks.end(), mismatch.stacks.begin(), mismatch.stacks.end());
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
  }
  return each;
}

absl::Status CheckRun(const RunRecord& run) {
  if (!IsToken(run.archetype) || !IsToken(run.stack)) {
    return absl::InvalidArgumentError(
        "a run's archetype and stack are tokens of 32 lowercase hexadecimal digits");
  }
  if (run.context.empty() || run.context.size() > kMostContext) {
    return absl::InvalidArgumentError("a run's context has between 1 and 4,096 bytes");
  }
  if (run.gpus < 1 || run.gpus > 10'000'000) {
    return absl::InvalidArgumentError(absl::StrCat("gpus ", run.gpus, ": is 1 to 10,000,000"));
  }
  if (!(run.hours >= 0) || run.hours > 100'000 || !(run.planned_hours >= 0) ||
      run.planned_hours > 100'000) {
    return absl::InvalidArgumentError("hours of a run are between 0 and 100,000");
  }
  if (run.nodes.size() > kMostNodes || run.episodes.size() > kMostEpisodes) {
    return absl::InvalidArgumentError("a run has at most 4,096 nodes and 1,024 episodes");
  }
  for (const double value : run.behaviour) {
    if (run.behaviour_known && !(std::abs(value) <= kMostBehaviour)) {
      return absl::InvalidArgumentError("behaviour: four logarithms, between -100 and 100");
    }
  }
  double at = 0;
  for (const Episode& episode : run.episodes) {
    if (!(episode.begin >= at) || !(episode.end >= episode.begin) ||
        episode.end > run.hours + 1e-6) {
      return absl::InvalidArgumentError(
          "episodes must be in order, must not overlap and must lie within the run");
    }
    at = episode.end;
  }
  return absl::OkStatus();
}

}  // namespace

std::uint32_t MachinesOf(std::uint32_t context, std::int64_t gpus) {
  return (context << 4) | Power(static_cast<double>(gpus), 8);
}

std::optional<std::uint32_t> Names::Number(absl::string_view text) {
  if (const auto found = Find(text)) return found;
  if (texts_.size() >= most_) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

std::optional<std::uint32_t> Names::Find(absl::string_view text) const {
  const auto it = numbers_.find(text);
  if (it == numbers_.end()) return std::nullopt;
  return it->second;
}

Learner::Learner(LearnerOptions options)
    : options_(std::move(options)),
      archetypes_(options_.most_names),
      workload_names_(options_.most_names),
      contexts_(options_.most_names),
      counts_(options_.most_cells),
      lives_(options_.most_cells),
      unfollowed_(options_.most_cells),
      fleet_(options_.most_nodes) {}

absl::Status Learner::Add(const RunRecord& run) {
  if (absl::Status status = CheckRun(run); !status.ok()) return status;
  ++runs_;
  const std::string named = absl::StrCat(run.archetype, " ", run.stack);
  // All or none of them get a number: data indexed by number stays in step with the names.
  if (!archetypes_.HasRoomFor(run.archetype) || !workload_names_.HasRoomFor(named) ||
      !contexts_.HasRoomFor(run.context)) {
    ++unnamed_;
    return absl::OkStatus();
  }
  const auto archetype = archetypes_.Number(run.archetype);
  const auto workload = workload_names_.Number(named);
  const auto context = contexts_.Number(run.context);
  if (*workload == workloads_.size()) workloads_.push_back({*archetype, {}});
  if (run.behaviour_known) workloads_[*workload].behaviour.Add(run.behaviour);
  const bool failed = run.ending == Ending::kFailed;
  // A run that somebody stopped was not completed: its outcome is unknown.
  if (run.ending != Ending::kStopped) {
    const double days = absl::ToDoubleHours(run.start - absl::UnixEpoch()) / 24;
    const double epoch = std::floor(std::max(0.0, days) / options_.epoch_days);
    const Stratum stratum{Power(static_cast<double>(run.gpus), 8), Power(run.planned_hours, 4),
                          static_cast<std::uint16_t>(std::fmod(epoch, 1024))};
    counts_.Add(*workload, *context, stratum, failed, run.node.empty() ? 0 : HashOf(run.node));
  }
  const std::uint32_t machines = MachinesOf(*context, run.gpus);
  if (run.episodes.empty()) {
    // Signs were not followed: their absence proves nothing.
    unfollowed_.Add(*workload, machines, 0, run.hours, Signs{}, failed, run.planned_hours);
  } else {
    for (const Episode& episode : run.episodes) {
      lives_.Add(*workload, machines, episode.begin, episode.end, episode.signs,
                 failed && &episode == &run.episodes.back(), run.planned_hours);
    }
  }
  if (run.ending == Ending::kStopped) return absl::OkStatus();  // not better on any machine
  bool blamed = false;
  for (const std::string& node : run.nodes) {
    const bool here = failed && node == run.node;
    blamed = blamed || here;
    fleet_.Add(node, *context, *archetype, here);
  }
  if (failed && !blamed) fleet_.Add(run.node, *context, *archetype, true);
  return absl::OkStatus();
}

std::vector<std::uint32_t> Learner::Groups() const {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_archetype;
  for (std::uint32_t i = 0; i < workloads_.size(); ++i) {
    by_archetype[workloads_[i].archetype].push_back(i);
  }
  std::vector<std::uint32_t> groups(workloads_.size());
  for (const auto& [archetype, members] : by_archetype) {
    std::vector<Behaviour> versions;
    versions.reserve(members.size());
    for (const std::uint32_t member : members) versions.push_back(workloads_[member].behaviour);
    const std::vector<std::uint32_t> alike = GroupAlike(versions, options_.tolerance);
    std::map<std::uint32_t, std::uint32_t> first;
    for (std::size_t i = 0; i < members.size(); ++i) {
      groups[members[i]] = first.emplace(alike[i], members[i]).first->second;
    }
  }
  return groups;
}

LearnedMismatch Learner::Describe(const Mismatch& mismatch, bool together,
                                  const std::vector<std::uint32_t>& groups,
                                  const std::vector<RunCounts::Cell>& cells) const {
  LearnedMismatch learned;
  learned.evidence = mismatch;
  learned.archetype = archetypes_.Text(workloads_[mismatch.workload].archetype);
  learned.context = contexts_.Text(mismatch.context);
  // The versions of the group that fail here themselves; versions with too little data go with the
  // rest.
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> versions;
  for (const RunCounts::Cell& cell : cells) {
    const std::uint32_t of = together ? groups[cell.workload] : cell.workload;
    if (cell.context != mismatch.context || of != mismatch.workload) continue;
    versions[cell.workload].first += cell.runs;
    versions[cell.workload].second += cell.failed;
  }
  const double expected = mismatch.expected / static_cast<double>(mismatch.runs);
  std::vector<std::string> all;
  for (const auto& [workload, count] : versions) {
    const std::vector<std::string> parts =
        absl::StrSplit(workload_names_.Text(workload), absl::MaxSplits(' ', 1));
    all.push_back(parts[1]);
    if (BinomialUpperTail(count.second, count.first, expected) < 0.01) {
      learned.stacks.push_back(parts[1]);
    }
  }
  if (learned.stacks.empty()) learned.stacks = all;
  std::sort(learned.stacks.begin(), learned.stacks.end());
  learned.id =
      absl::StrCat(mismatch.one_node ? "one-node-" : "mismatch-",
                   Sha256Hex(absl::StrCat(learned.archetype, "\n", learned.context)).substr(0, 16));
  return learned;
}

Learned Learner::Learn() const {
  Learned learned;
  learned.runs = runs_;
  learned.left_out = counts_.left_out() + unnamed_;
  learned.q = options_.q;
  // Each version by itself, and versions that behave alike together: a property of one version is
  // clearer alone, a property of all is clearer together.
  const std::vector<std::uint32_t> groups = Groups();
  std::vector<Mismatch> tested = FindMismatches(counts_, options_.pairs);
  const std::size_t alone = tested.size();
  std::vector<int> members(groups.size(), 0);
  for (const std::uint32_t group : groups) ++members[group];
  PairOptions together = options_.pairs;
  together.group = [&groups](std::uint32_t workload) { return groups[workload]; };
  for (const Mismatch& each : FindMismatches(counts_, together)) {
    if (members[each.workload] > 1) tested.push_back(each);
  }
  learned.tested_pairs = tested.size();
  std::vector<double> p_values;
  p_values.reserve(tested.size());
  for (const Mismatch& mismatch : tested) p_values.push_back(mismatch.p);
  const std::vector<bool> found = BenjaminiHochberg(p_values, options_.q);
  const std::vector<RunCounts::Cell> cells = counts_.Cells();
  std::set<std::pair<std::uint32_t, std::uint32_t>> said;  // group and context
  for (std::size_t i = 0; i < tested.size(); ++i) {
    const Mismatch& mismatch = tested[i];
    if (!found[i]) continue;
    const std::pair<std::uint32_t, std::uint32_t> place = {groups[mismatch.workload],
                                                           mismatch.context};
    if (i < alone) {
      said.insert(place);
    } else if (said.contains(place)) {
      continue;  // a version of it was found separately
    }
    (mismatch.one_node ? learned.of_one_node : learned.mismatches)
        .push_back(Describe(mismatch, i >= alone, groups, cells));
  }
  learned.mismatches = OneOfEach(std::move(learned.mismatches));
  learned.of_one_node = OneOfEach(std::move(learned.of_one_node));

  const std::vector<LifeCounts::Cell> lives = lives_.Cells();
  absl::StatusOr<HazardModel> hazard = FitHazard(lives, options_.fit);
  if (hazard.ok()) {
    // Each sign that was seen is a test, whether or not a failure followed: tests that are chosen
    // by their outcome find too much.
    for (const HazardModel::Sign& sign : hazard->signs) {
      if (sign.hours > 0) learned.sign_p.push_back(sign.p);
    }
    learned.tested_signs = learned.sign_p.size();
    const std::vector<bool> kept = BenjaminiHochberg(learned.sign_p, options_.q);
    FitOptions fit = options_.fit;
    fit.keep.assign(kMostSigns, false);
    std::size_t next = 0;
    for (std::size_t i = 0; i < kMostSigns; ++i) {
      if (hazard->signs[i].hours > 0) fit.keep[i] = kept[next++];
      if (!fit.keep[i]) continue;
      learned.build_ups.push_back({absl::StrCat("build-up-", i), i, hazard->signs[i]});
    }
    hazard = FitHazard(lives, fit);
  } else if (unfollowed_.cells() > 0) {
    // The failure rate of runs is known from all of them; the effect of signs is not.
    std::vector<LifeCounts::Cell> all = unfollowed_.Cells();
    all.insert(all.end(), lives.begin(), lives.end());
    FitOptions fit = options_.fit;
    fit.keep.assign(kMostSigns, false);
    hazard = FitHazard(all, fit);
  }
  if (hazard.ok()) {
    learned.hazard = *std::move(hazard);
  } else {
    learned.no_hazard = std::string(hazard.status().message());
  }
  for (std::uint32_t i = 0; i < workload_names_.size(); ++i) {
    learned.workloads[workload_names_.Text(i)] = i;
  }
  for (std::uint32_t i = 0; i < contexts_.size(); ++i) learned.contexts[contexts_.Text(i)] = i;
  learned.lemons = fleet_.Lemons(options_.q);
  return learned;
}

}  // namespace galen::advisor
