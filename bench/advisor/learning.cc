// Measures what the advisor learns from synthetic fleets (tests/testing/advisor/made_up_fleet.h).
//   --mode=planted     precision and recall of mismatches, build-ups and lemon nodes over --fleets
//   seeds
//   --mode=null        on how many of --fleets fleets with nothing planted anything is found
//   --mode=calibration predicted hazards against outcomes, on runs that were not learned from;
//   --svg draws it
//   --mode=memory      --runs runs in one pass: rate and peak memory; --generate_only: the cost of
//   generating them
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/eval/metrics/wilson.h"
#include "calibration_svg.h"
#include "services/advisor/learning/learner.h"
#include "services/advisor/learning/online.h"
#include "tests/testing/advisor/made_up_fleet.h"

ABSL_FLAG(std::string, mode, "planted", "planted, null, calibration or memory.");
ABSL_FLAG(int, fleets, 20, "How many fleets.");
ABSL_FLAG(int, runs, 100000, "Runs of each.");
ABSL_FLAG(std::uint64_t, seed, 1000, "Of the first fleet; the others follow.");
ABSL_FLAG(double, q, 0.05, "False-discovery rate.");
ABSL_FLAG(double, mismatch_factor, 5, "How many times a mismatch fails.");
ABSL_FLAG(double, build_up_factor, 2, "How many times a level of a sign makes failures likelier.");
ABSL_FLAG(std::string, svg, "", "File for the picture of calibration.");
ABSL_FLAG(bool, generate_only, false, "With memory: runs are made and thrown away.");

namespace galen::bench {
namespace {

using advisor::Learned;
using advisor::Learner;
using advisor::RunRecord;
using eval::Share;
using eval::WilsonShare;
using testing::FleetShape;
using testing::MadeUpFleet;

std::int64_t PeakKiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

Learned LearnFrom(MadeUpFleet& fleet, int runs) {
  advisor::LearnerOptions options;
  options.q = absl::GetFlag(FLAGS_q);
  Learner learner(options);
  for (int i = 0; i < runs; ++i) {
    if (!learner.Add(fleet.Next()).ok()) {
      fprintf(stderr, "a made-up run was refused\n");
      exit(1);
    }
  }
  return learner.Learn();
}

struct Tally {
  std::int64_t planted = 0, found = 0, right = 0;
  void Add(const std::set<std::string>& truth, const std::set<std::string>& said) {
    planted += static_cast<std::int64_t>(truth.size());
    found += static_cast<std::int64_t>(said.size());
    for (const std::string& each : said) right += truth.contains(each) ? 1 : 0;
  }
  void Print(const char* name) const {
    const Share precision = WilsonShare(right, found);
    const Share recall = WilsonShare(right, planted);
    printf(
        "%-11s planted %4lld  found %4lld  right %4lld  precision %.3f (%.3f to %.3f)  recall %.3f "
        "(%.3f to %.3f)\n",
        name, static_cast<long long>(planted), static_cast<long long>(found),
        static_cast<long long>(right), precision.value, precision.low, precision.high, recall.value,
        recall.low, recall.high);
  }
};

void Planted() {
  Tally cells, carriers, build_ups, lemons;
  FleetShape shape;
  shape.mismatches = 4;
  shape.mismatch_factor = absl::GetFlag(FLAGS_mismatch_factor);
  shape.build_ups = 3;
  shape.build_up_factor = absl::GetFlag(FLAGS_build_up_factor);
  shape.lemons = 6;
  for (int i = 0; i < absl::GetFlag(FLAGS_fleets); ++i) {
    MadeUpFleet fleet(shape, absl::GetFlag(FLAGS_seed) + static_cast<std::uint64_t>(i));
    const Learned learned = LearnFrom(fleet, absl::GetFlag(FLAGS_runs));
    std::set<std::string> truth, said, truth_carriers, said_carriers;
    for (const MadeUpFleet::Planted& each : fleet.mismatches()) {
      const std::string cell =
          MadeUpFleet::Archetype(each.archetype) + MadeUpFleet::Context(each.context);
      truth.insert(cell);
      truth_carriers.insert(cell + MadeUpFleet::Stack(each.archetype * shape.stacks + each.stack));
    }
    for (const advisor::LearnedMismatch& each : learned.mismatches) {
      said.insert(each.archetype + each.context);
      for (const std::string& stack : each.stacks) {
        said_carriers.insert(each.archetype + each.context + stack);
      }
    }
    cells.Add(truth, said);
    carriers.Add(truth_carriers, said_carriers);
    truth.clear();
    said.clear();
    for (const std::size_t sign : fleet.build_ups()) truth.insert(absl::StrCat(sign));
    for (const advisor::LearnedBuildUp& each : learned.build_ups)
      said.insert(absl::StrCat(each.sign));
    build_ups.Add(truth, said);
    said.clear();
    for (const auto& lemon : learned.lemons) said.insert(lemon.node);
    lemons.Add(fleet.lemons(), said);
  }
  printf("%d fleets of %d runs, mismatches %.3g times, signs %.3g times a level, q %.3g\n",
         absl::GetFlag(FLAGS_fleets), absl::GetFlag(FLAGS_runs),
         absl::GetFlag(FLAGS_mismatch_factor), absl::GetFlag(FLAGS_build_up_factor),
         absl::GetFlag(FLAGS_q));
  cells.Print("mismatches");
  carriers.Print("  versions");
  build_ups.Print("build-ups");
  lemons.Print("lemon nodes");
}

void Null() {
  const int fleets = absl::GetFlag(FLAGS_fleets);
  int mismatches = 0, build_ups = 0, lemons = 0;
  std::int64_t tests = 0;
  std::vector<double> sign_p;
  for (int i = 0; i < fleets; ++i) {
    MadeUpFleet fleet({}, absl::GetFlag(FLAGS_seed) + static_cast<std::uint64_t>(i));
    const Learned learned = LearnFrom(fleet, absl::GetFlag(FLAGS_runs));
    tests += static_cast<std::int64_t>(learned.tested_pairs);
    mismatches += learned.mismatches.empty() && learned.of_one_node.empty() ? 0 : 1;
    sign_p.insert(sign_p.end(), learned.sign_p.begin(), learned.sign_p.end());
    build_ups += learned.build_ups.empty() ? 0 : 1;
    lemons += learned.lemons.empty() ? 0 : 1;
  }
  printf("%d fleets of %d runs with nothing planted, q %.3g, %.0f cells tested a fleet\n", fleets,
         absl::GetFlag(FLAGS_runs), absl::GetFlag(FLAGS_q),
         static_cast<double>(tests) / std::max(1, fleets));
  for (const auto& [name, found] : {std::pair<const char*, int>{"mismatch", mismatches},
                                    {"build-up", build_ups},
                                    {"lemon node", lemons}}) {
    const Share share = WilsonShare(found, fleets);
    printf("fleets with a %-10s %3d of %d: %.3f (%.3f to %.3f)\n", name, found, fleets, share.value,
           share.low, share.high);
  }
  // Without planted effects, p-values are spread evenly.
  printf("p-values of signs: of %zu, at most", sign_p.size());
  for (const double level : {0.001, 0.00625, 0.025, 0.05, 0.25, 0.5, 0.75}) {
    const auto below =
        std::count_if(sign_p.begin(), sign_p.end(), [level](double p) { return p <= level; });
    printf("  %.3g: %.4f", level,
           WilsonShare(below, static_cast<std::int64_t>(sign_p.size())).value);
  }
  printf("\n");
}

void Calibration() {
  FleetShape shape;
  shape.build_ups = 3;
  shape.build_up_factor = absl::GetFlag(FLAGS_build_up_factor);
  constexpr double kHorizon = 1;  // hour
  struct Sum {
    double predicted = 0;
    std::int64_t count = 0, failed = 0;
  };
  std::map<int, Sum> sums;
  Sum all;
  for (int i = 0; i < absl::GetFlag(FLAGS_fleets); ++i) {
    MadeUpFleet fleet(shape, absl::GetFlag(FLAGS_seed) + static_cast<std::uint64_t>(i));
    const Learned learned = LearnFrom(fleet, absl::GetFlag(FLAGS_runs));
    // Other runs of the same fleet: each is read once, at a moment independent of its end, while it
    // is running; a run that its owner stopped within the hour is left out.
    std::uint64_t moment = 12345;
    for (int k = 0; k < absl::GetFlag(FLAGS_runs); ++k) {
      const RunRecord run = fleet.Next();
      moment = moment * 6364136223846793005ULL + 1442695040888963407ULL;
      const double at = run.planned_hours * static_cast<double>(moment >> 40) / double{1 << 24};
      if (at >= run.hours || at + kHorizon > run.planned_hours) continue;
      const bool failed = run.ending == advisor::Ending::kFailed && run.hours <= at + kHorizon;
      if (!failed && run.hours < at + kHorizon) continue;
      advisor::RunningJob job{run.archetype, run.stack, run.context, run.gpus, at, {}};
      for (const advisor::Episode& episode : run.episodes) {
        if (episode.begin <= at && at < episode.end) job.signs = episode.signs;
      }
      const advisor::Hazard hazard = advisor::HazardOf(learned, job, kHorizon);
      if (!hazard.known) continue;
      Sum& sum =
          sums[static_cast<int>(std::floor(4 * std::log10(std::max(hazard.probability, 1e-6))))];
      for (Sum* each : {&sum, &all}) {
        each->predicted += hazard.probability;
        each->count += 1;
        each->failed += failed ? 1 : 0;
      }
    }
  }
  std::vector<CalibrationBin> bins;
  printf("predicted  failed   95 %% interval        predictions\n");
  for (const auto& [key, sum] : sums) {
    if (sum.count < 100) continue;
    CalibrationBin bin{sum.predicted / static_cast<double>(sum.count),
                       WilsonShare(sum.failed, sum.count), static_cast<long>(sum.count)};
    printf("%8.4f  %7.4f   %.4f to %.4f %s  %8ld\n", bin.predicted, bin.observed.value,
           bin.observed.low, bin.observed.high,
           bin.observed.low <= bin.predicted && bin.predicted <= bin.observed.high ? "holds it "
                                                                                   : "misses it",
           bin.count);
    bins.push_back(bin);
  }
  printf("in all: %.1f predicted, %lld failed of %lld\n", all.predicted,
         static_cast<long long>(all.failed), static_cast<long long>(all.count));
  if (const std::string file = absl::GetFlag(FLAGS_svg); !file.empty()) {
    std::ofstream(file) << CalibrationSvg(bins, "Failing within the next hour: predicted and seen");
  }
}

void Memory() {
  FleetShape shape;
  shape.archetypes = 64;
  shape.contexts = 32;
  shape.nodes = 20'000;
  shape.mismatches = 8;
  shape.build_ups = 3;
  MadeUpFleet fleet(shape, absl::GetFlag(FLAGS_seed));
  const int runs = absl::GetFlag(FLAGS_runs);
  const std::int64_t before = PeakKiB();
  const absl::Time start = absl::Now();
  if (absl::GetFlag(FLAGS_generate_only)) {
    double hours = 0;
    for (int i = 0; i < runs; ++i) hours += fleet.Next().hours;
    printf("%d runs made (%.0f hours) in %.2f s, most memory %.1f MiB\n", runs, hours,
           absl::ToDoubleSeconds(absl::Now() - start), static_cast<double>(PeakKiB()) / 1024);
    return;
  }
  Learner learner;
  for (int i = 0; i < runs; ++i) static_cast<void>(learner.Add(fleet.Next()));
  const absl::Time counted = absl::Now();
  const std::int64_t counting = PeakKiB();
  const Learned learned = learner.Learn();
  printf(
      "%d runs: made and counted in %.2f s (%.0f a second), learned in %.2f s; most memory %.1f "
      "MiB before, %.1f after counting, "
      "%.1f after learning; %zu mismatches of %zu tested, %zu build-ups, %lld runs left out\n",
      runs, absl::ToDoubleSeconds(counted - start), runs / absl::ToDoubleSeconds(counted - start),
      absl::ToDoubleSeconds(absl::Now() - counted), static_cast<double>(before) / 1024,
      static_cast<double>(counting) / 1024, static_cast<double>(PeakKiB()) / 1024,
      learned.mismatches.size(), learned.tested_pairs, learned.build_ups.size(),
      static_cast<long long>(learned.left_out));
}

}  // namespace
}  // namespace galen::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const std::string mode = absl::GetFlag(FLAGS_mode);
  if (mode == "planted") {
    galen::bench::Planted();
  } else if (mode == "null") {
    galen::bench::Null();
  } else if (mode == "calibration") {
    galen::bench::Calibration();
  } else if (mode == "memory") {
    galen::bench::Memory();
  } else {
    fprintf(stderr, "--mode: planted, null, calibration or memory\n");
    return 1;
  }
}
