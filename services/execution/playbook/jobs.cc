#include "services/execution/playbook/jobs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "common/timeseries/correlation.h"
#include "common/timeseries/robust.h"

namespace galen::playbook {
namespace {

using timeseries::IsKnown;
using timeseries::kUnknown;

// Least correlation of a machine with its job, and least margin over the other job.
constexpr double kLeastCorrelation = 0.2;
constexpr std::size_t kLeastPairs = 30;
constexpr double kLeastMargin = 0.05;
// Least share of the machines that must be assigned to a job.
constexpr double kLeastTold = 0.75;
constexpr double kLeastOverlap = 0.5;

// 0 where it rests on too few points.
double Follows(absl::Span<const float> a, absl::Span<const float> b) {
  const auto found = timeseries::Correlate(a, b);
  return found.has_value() && found->pairs >= kLeastPairs ? found->value : 0;
}

struct Job {
  std::string name;
  std::vector<float> throughput;
  std::vector<std::string> nodes;  // that tell it
  std::size_t known = 0;
};

std::vector<Job> JobsIn(const Rows& throughput) {
  std::map<std::string, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < throughput.places.size(); ++i) {
    if (!throughput.places[i].job.empty()) rows[throughput.places[i].job].push_back(i);
  }
  std::vector<Job> jobs;
  std::vector<float> column;
  for (const auto& [name, of] : rows) {
    Job job{name, std::vector<float>(throughput.grid.size, kUnknown), {}, 0};
    for (std::size_t t = 0; t < job.throughput.size(); ++t) {
      column.clear();
      for (const std::size_t i : of) column.push_back(throughput.values.Row(i)[t]);
      job.throughput[t] = timeseries::Median(column);
      job.known += IsKnown(job.throughput[t]) ? 1 : 0;
    }
    for (const std::size_t i : of) job.nodes.push_back(throughput.places[i].node);
    jobs.push_back(std::move(job));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.known > b.known; });
  return jobs;
}

// Over what both know: neither its beginning nor its end tells who is slower.
std::pair<float, float> Levels(const Job& a, const Job& b, std::size_t& both) {
  std::vector<float> one;
  std::vector<float> other;
  for (std::size_t t = 0; t < a.throughput.size(); ++t) {
    if (!IsKnown(a.throughput[t]) || !IsKnown(b.throughput[t])) continue;
    one.push_back(a.throughput[t]);
    other.push_back(b.throughput[t]);
  }
  both = one.size();
  return {timeseries::Median(one), timeseries::Median(other)};
}

// Power of the machines that report the job's throughput.
std::vector<float> PowerOf(const Job& job, const Rows& of_nodes) {
  std::vector<float> power(of_nodes.grid.size, kUnknown);
  std::vector<float> column;
  for (std::size_t t = 0; t < power.size(); ++t) {
    column.clear();
    for (std::size_t i = 0; i < of_nodes.places.size(); ++i) {
      if (std::find(job.nodes.begin(), job.nodes.end(), of_nodes.places[i].node) !=
          job.nodes.end()) {
        column.push_back(of_nodes.values.Row(i)[t]);
      }
    }
    power[t] = timeseries::Median(column);
  }
  return power;
}

}  // namespace

TwoJobs FindTwoJobs(const Rows& throughput, const Rows& power) {
  std::vector<Job> jobs = JobsIn(throughput);
  if (jobs.size() < 2) return {};
  std::size_t both = 0;
  const auto [first, second] = Levels(jobs[0], jobs[1], both);
  if (static_cast<double>(both) < kLeastOverlap * static_cast<double>(jobs[1].known)) return {};
  if (first < second) std::swap(jobs[0], jobs[1]);
  TwoJobs found{jobs[1].name, jobs[0].name, jobs[1].nodes, jobs[0].nodes};
  const Rows of_nodes = Together(power, Over::kNode, Combine::kMean);
  const std::vector<float> of_fast = PowerOf(jobs[0], of_nodes);
  const std::vector<float> of_slow = PowerOf(jobs[1], of_nodes);
  std::size_t told = 0;
  for (std::size_t i = 0; i < of_nodes.places.size(); ++i) {
    const std::string& node = of_nodes.places[i].node;
    const auto tells = [&](const Job& job) {
      return std::find(job.nodes.begin(), job.nodes.end(), node) != job.nodes.end();
    };
    if (tells(jobs[0]) || tells(jobs[1])) {
      ++told;
      continue;
    }
    const double fast = Follows(of_nodes.values.Row(i), of_fast);
    const double slow = Follows(of_nodes.values.Row(i), of_slow);
    if (std::max(fast, slow) < kLeastCorrelation || std::abs(fast - slow) < kLeastMargin) continue;
    ++told;
    (fast > slow ? found.faster_nodes : found.slower_nodes).push_back(node);
  }
  if (static_cast<double>(told) < kLeastTold * static_cast<double>(of_nodes.places.size())) {
    found.slower_nodes.clear();
    found.faster_nodes.clear();
  }
  for (std::vector<std::string>* nodes : {&found.slower_nodes, &found.faster_nodes}) {
    std::sort(nodes->begin(), nodes->end());
    nodes->erase(std::unique(nodes->begin(), nodes->end()), nodes->end());
  }
  return found;
}

}  // namespace galen::playbook
