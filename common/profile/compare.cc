#include "common/profile/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace galen::profile {
namespace {

// The sums of a job over its GPUs, each as the mean of its steps.
struct StepMeans {
  double gpus = 0;
  double steps = 0;
  double wall = 0;
  double compute = 0;
  double exposed = 0;
  double memory = 0;
  double host = 0;
  double idle = 0;
  bool host_known = true;
  bool marked = true;
  bool cut = false;                                           // more operators than were kept
  std::map<std::size_t, std::pair<double, double>> families;  // seconds, calls
  std::map<std::string, std::pair<std::size_t, std::pair<double, double>>> operators;
};

StepMeans MeansOf(const JobProfile& job) {
  StepMeans means;
  for (const TraceReport& trace : job.traces) {
    for (const DeviceReport& device : trace.devices) {
      if (device.steps.empty()) continue;
      const auto steps = static_cast<double>(device.steps.size());
      const auto seconds = [&](std::int64_t time) {
        return static_cast<double>(time) * 1e-9 / steps;
      };
      means.gpus += 1;
      means.steps += steps;
      means.host_known = means.host_known && trace.host_known;
      means.marked = means.marked && device.marked;
      means.cut = means.cut || device.kernels.size() < device.kernels_in_all;
      means.wall += seconds(device.total.wall);
      means.compute += seconds(device.total.compute);
      means.exposed += seconds(device.total.exposed);
      means.memory += seconds(device.total.memory);
      means.host += seconds(device.total.host);
      means.idle += seconds(device.total.idle);
      for (const FamilyTime& family : device.families) {
        means.families[family.family].first += seconds(family.time);
        means.families[family.family].second += static_cast<double>(family.count) / steps;
      }
      for (const KernelTime& kernel : device.kernels) {
        auto& [family, sums] = means.operators[kernel.name];
        family = kernel.family;
        sums.first += seconds(kernel.time);
        sums.second += static_cast<double>(kernel.count) / steps;
      }
    }
  }
  return means;
}

template <typename Item>
void LargestFirst(std::vector<Item>& items) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return std::abs(a.time.Difference()) > std::abs(b.time.Difference());
  });
}

}  // namespace

bool IsComparable(const JobProfile& job) { return MeansOf(job).gpus > 0; }

Difference Compare(const JobProfile& here, const JobProfile& against) {
  const StepMeans a = MeansOf(here);
  const StepMeans b = MeansOf(against);
  const auto pair = [&](double of_a, double of_b) { return Pair{of_a / a.gpus, of_b / b.gpus}; };
  Difference difference;
  difference.gpus = {a.gpus, b.gpus};
  difference.steps = {a.steps, b.steps};
  difference.step = pair(a.wall, b.wall);
  difference.parts = {{"compute", "compute", pair(a.compute, b.compute)},
                      {"exposed_communication", "communication alone", pair(a.exposed, b.exposed)},
                      {"memory", "copies alone", pair(a.memory, b.memory)}};
  if (a.host_known && b.host_known) {
    difference.parts.push_back({"host", "host", pair(a.host, b.host)});
    difference.parts.push_back({"idle", "idle", pair(a.idle, b.idle)});
  } else {
    difference.parts.push_back({"idle", "idle", pair(a.host + a.idle, b.host + b.idle)});
  }
  std::map<std::size_t, FamilyDifference> families;
  for (const auto& [index, sums] : a.families) {
    families[index].time.here = sums.first / a.gpus;
    families[index].calls.here = sums.second / a.gpus;
  }
  for (const auto& [index, sums] : b.families) {
    families[index].time.against = sums.first / b.gpus;
    families[index].calls.against = sums.second / b.gpus;
  }
  for (auto& [index, family] : families) {
    family.family = index;
    difference.families.push_back(family);
  }
  std::map<std::string, OperatorDifference> operators;
  for (const auto& [name, sums] : a.operators) {
    operators[name] = {
        name, sums.first, {sums.second.first / a.gpus, 0}, {sums.second.second / a.gpus, 0}};
  }
  for (const auto& [name, sums] : b.operators) {
    OperatorDifference& one = operators[name];
    one.name = name;
    one.family = sums.first;
    one.time.against = sums.second.first / b.gpus;
    one.calls.against = sums.second.second / b.gpus;
  }
  for (auto& [name, one] : operators) difference.operators.push_back(std::move(one));
  LargestFirst(difference.parts);
  LargestFirst(difference.families);
  LargestFirst(difference.operators);
  if (a.marked != b.marked) {
    difference.notes.emplace_back(
        "only one of the two marks steps: the other one counts as one step as a whole, so the step "
        "times are not alike");
  } else if (!a.marked) {
    difference.notes.emplace_back(
        "neither marks steps: each counts as one step as a whole, from its first GPU operation to "
        "its last");
  }
  if (a.gpus != b.gpus) {
    difference.notes.push_back(
        absl::StrCat(a.gpus, " GPUs beside ", b.gpus, ": the means of a GPU are compared"));
  }
  if (a.cut || b.cut) {
    difference.notes.push_back(absl::StrCat("operators are compared among the ", kComparedKernels,
                                            " longest of each GPU"));
  }
  return difference;
}

}  // namespace galen::profile
