// How well and how fast the faulty machine of a job is found: 1,000 machines, 20 metrics, a sample
// a second, 15 minutes. GALEN_SEEDS=FIRST:COUNT chooses the jobs (default 1001:300; the options'
// defaults were chosen on 1:60).
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "common/series/faulty_machine.h"
#include "tests/testing/series/made_up_job.h"

namespace galen::series {
namespace {

// Processor time of this thread: time used by others does not count.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The same memory, once, with nothing done but adding up: sixteen sums side by side, so that the
// memory and not the adder is what it waits for.
float Read(const testing::MadeUpJob& job) {
  using Floats = float __attribute__((vector_size(16)));
  Floats sums[4] = {};
  for (const Panel& metric : job.metrics) {
    const float* const at = metric.Row(0).data();
    const std::size_t size = metric.entities() * metric.samples();
    for (std::size_t i = 0; i + 16 <= size; i += 16) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        Floats values;
        __builtin_memcpy(&values, at + i + 4 * lane, sizeof(values));
        sums[lane] += values;
      }
    }
  }
  const Floats all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return all[0] + all[1] + all[2] + all[3];
}

struct Distribution {
  std::vector<double> values;
  double At(double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  }
  std::string Text(double unit) {
    char text[96];
    std::snprintf(text, sizeof(text), "%.2f / %.2f / %.2f", At(0) * unit, At(0.5) * unit,
                  At(1) * unit);
    return text;
  }
};

void BM_FaultyMachine(benchmark::State& state) {
  unsigned long long first = 1001;
  unsigned long long count = 300;
  if (const char* seeds = std::getenv("GALEN_SEEDS"))
    std::sscanf(seeds, "%llu:%llu", &first, &count);
  int right = 0;
  int wrong = 0;
  int missed = 0;
  int healthy = 0;
  int frozen = 0;
  int frozen_seen = 0;
  std::map<std::string, std::pair<int, int>> kinds;  // found, all
  Distribution reads;
  Distribution searches;
  Distribution ratios;
  const bool verbose = std::getenv("GALEN_VERBOSE") != nullptr;
  for (auto _ : state) {
    for (unsigned long long seed = first; seed < first + count; ++seed) {
      const testing::MadeUpJob job = testing::MakeUpJob({}, seed);
      const std::vector<const Panel*> views = job.views();
      FaultReport report;
      // In turns, so that a neighbour of this machine slows down both.
      for (int repeat = 0; repeat < 3; ++repeat) {
        double start = ThreadSeconds();
        benchmark::DoNotOptimize(Read(job));
        const double read = ThreadSeconds() - start;
        start = ThreadSeconds();
        report = FindFaultyMachine(views);
        const double search = ThreadSeconds() - start;
        reads.values.push_back(read);
        searches.values.push_back(search);
        ratios.values.push_back(search / read);
      }
      bool found = report.suspect.has_value() && job.faulty == report.suspect->machine;
      if (job.kind == "unreachable") {
        found = report.silent.size() == 1 && report.silent[0] == *job.faulty &&
                !report.suspect.has_value();
      }
      if (job.faulty.has_value()) {
        ++kinds[job.kind].second;
        kinds[job.kind].first += found ? 1 : 0;
      } else {
        ++healthy;
      }
      right += found ? 1 : 0;
      const bool accused = report.suspect.has_value() && !found;
      wrong += accused ? 1 : 0;
      missed += job.faulty.has_value() && !found ? 1 : 0;
      frozen += job.frozen.has_value() ? 1 : 0;
      frozen_seen +=
          job.frozen.has_value() && report.frozen == std::vector<std::size_t>{*job.frozen} ? 1 : 0;
      if (verbose && (accused || (job.faulty.has_value() && !found))) {
        std::printf("seed %llu: %s %s at %zu; evidence %.1f at %zu%s\n", seed,
                    accused ? "WRONG" : "missed", job.kind.c_str(), job.onset,
                    report.suspect ? report.suspect->evidence : 0.0F,
                    report.suspect ? report.suspect->begin : 0, report.group ? ", group" : "");
        if (!report.suspect.has_value()) continue;
        std::printf("  machine %zu to %zu:", report.suspect->machine, report.suspect->end);
        for (const MetricChange& change : report.suspect->metrics)
          std::printf(" %zu by %.1f", change.metric, change.noises);
        std::printf("\n");
      }
    }
  }
  const double precision = right + wrong == 0 ? 0 : static_cast<double>(right) / (right + wrong);
  const double recall = right + missed == 0 ? 0 : static_cast<double>(right) / (right + missed);
  std::printf(
      "seeds %llu to %llu: right %d, wrong %d, missed %d, jobs without a fault %d; collectors that "
      "hang seen %d of %d\n",
      first, first + count - 1, right, wrong, missed, healthy, frozen_seen, frozen);
  std::printf(
      "precision %.3f, recall %.3f, F1 %.3f (Minder on its own jobs: 0.904, 0.883, 0.893)\n",
      precision, recall, 2 * precision * recall / std::max(precision + recall, 1e-9));
  for (const auto& [kind, numbers] : kinds)
    std::printf("  %-15s %d of %d\n", kind.c_str(), numbers.first, numbers.second);
  std::printf(
      "reading 72 MB once %s ms, search %s ms, ratio %s (minimum / median / maximum of the "
      "processor time)\n",
      reads.Text(1e3).c_str(), searches.Text(1e3).c_str(), ratios.Text(1).c_str());
}
BENCHMARK(BM_FaultyMachine)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace galen::series
