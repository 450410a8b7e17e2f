// Early warning on synthetic fleets: thirty days of a thousand GPUs, eight kinds of faults.
// Measures how many faults are reported before people notice, false alarms and delay, and the same
// for a plain threshold and a moving average on the same minutes. The rules' numbers were chosen on
// the training seeds (--training), the rivals' levels are chosen on them here; the printed results
// are for other seeds (--seeds).
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/warning/rivals.h"
#include "bench/warning/scoring.h"
#include "bench/warning/watched.h"
#include "services/watch/early_warning/detection/detectors.h"
#include "services/watch/early_warning/detection/policy.h"
#include "services/watch/early_warning/detection/rules.h"

ABSL_FLAG(int, seeds, 201, "First seed that is scored.");
ABSL_FLAG(int, count, 5, "How many.");
ABSL_FLAG(int, training, 1, "First seed that the rivals are set by.");
ABSL_FLAG(int, training_count, 3, "How many; 0: no rivals.");
ABSL_FLAG(int, nodes, 125, "Machines of eight GPUs.");
ABSL_FLAG(int, days, 30, "Days.");
ABSL_FLAG(int, faults, 3, "Of each kind.");
ABSL_FLAG(bool, feedback, false, "A person says of each alarm, a day later, whether it was true.");
ABSL_FLAG(bool, verbose, false, "What was told falsely, and what was missed.");

namespace galen::bench {
namespace {

// galen-watch reads a minute after the next one has passed, and runs every half minute: a sign of
// one minute is reported this many minutes later.
constexpr int kBehind = 2;

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

const watch::detection::RuleSet& TheRules() {
  static const watch::detection::RuleSet rule_set = [] {
    auto loaded = watch::detection::LoadRules({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")});
    if (!loaded.ok()) {
      std::fprintf(stderr, "%s\n", std::string(loaded.status().message()).c_str());
      std::exit(1);
    }
    return *std::move(loaded);
  }();
  return rule_set;
}

// Galen's early warning.
class Ours {
 public:
  explicit Ours(int per_node) : per_node_(per_node) {}

  std::vector<Told> Step(const Watched& now) {
    const testing::MadeUpFleet& fleet = now.fleet();
    const int minute = fleet.minute();
    const absl::Time at = absl::FromUnixSeconds(std::int64_t{60} * (minute + 1));
    notices_.clear();
    StepKind(gpus_, fleet.gpu_jobs(), now, at);
    StepKind(nodes_, fleet.node_jobs(), now, at);
    StepKind(jobs_, fleet.job_ids(), now, at);
    std::vector<Told> told;
    for (const watch::detection::Alarm& alarm : policy_.Step(at, notices_)) {
      told.push_back(ToldOf(alarm, minute));
      told.back().what = absl::StrCat(alarm.notices.front().rule, " ", alarm.score);
      ids_.emplace_back(alarm.id, told.back());
    }
    if (absl::GetFlag(FLAGS_feedback)) {
      while (!ids_.empty() && minute - ids_.front().second.minute > 1440) {
        const auto& [id, what] = ids_.front();
        bool right = false;
        for (const testing::PlantedFault& fault : fleet.faults()) right |= IsRight(what, fault);
        policy_.Judge(id, right, at);
        ids_.erase(ids_.begin());
      }
    }
    return told;
  }

 private:
  static int NumberIn(const std::string& name) {
    return name.empty() ? -1 : std::atoi(name.c_str() + 1);
  }
  static Told ToldOf(const watch::detection::Alarm& alarm, int minute) {
    const watch::detection::Where& where = alarm.notices.front().where;
    return {minute + kBehind, NumberIn(where.node), NumberIn(where.job), ""};
  }
  void StepKind(watch::detection::Detectors& detectors, const std::vector<std::int32_t>& groups,
                const Watched& now, absl::Time at) {
    watch::detection::Moment moment;
    moment.minute = absl::ToUnixSeconds(at) / 60;
    moment.groups = groups;
    silent_.assign(groups.size(), 0);
    const std::size_t per_node = groups.size() / now.planned.size();
    for (std::size_t slot = 0; slot < groups.size(); ++slot) {
      silent_[slot] = now.planned[slot / per_node] ? 1 : 0;
    }
    moment.silent = silent_;
    for (const std::string& measure : detectors.measures()) {
      moment.columns.push_back(ColumnOf(measure, now));
    }
    for (const watch::detection::Sign& sign : detectors.Step(moment)) {
      watch::detection::Notice notice;
      notice.rule = detectors.rules()[sign.rule]->name;
      const bool gpu = &detectors == &gpus_;
      const auto node = static_cast<int>(sign.slot) / (gpu ? per_node_ : 1);
      const std::int32_t job = now.fleet().node_jobs()[static_cast<std::size_t>(node)];
      if (&detectors != &jobs_) notice.where.node = absl::StrCat("n", node);
      if (gpu) notice.where.device = absl::StrCat(static_cast<int>(sign.slot) % per_node_);
      if (job >= 0) notice.where.job = absl::StrCat("j", job);
      notice.score = static_cast<double>(sign.score);
      notice.since = absl::FromUnixSeconds(60 * sign.since);
      notices_.push_back(std::move(notice));
    }
  }
  static absl::Span<const float> ColumnOf(const std::string& measure, const Watched& now) {
    const testing::MadeUpFleet& fleet = now.fleet();
    if (measure == "gpu_power") return fleet.power();
    if (measure == "gpu_utilization") return fleet.utilization();
    if (measure == "gpu_clock") return fleet.clock();
    if (measure == "gpu_temperature") return fleet.temperature();
    if (measure == "gpu_ecc_correctable") return now.ecc;
    if (measure == "gpu_nvlink_replays") return now.nvlink;
    if (measure == "gpu_pcie_replays") return now.pcie;
    if (measure == "rdma_retransmissions") return now.retransmissions;
    if (measure == "host_memory_available") return fleet.memory_available();
    if (measure == "host_memory_total") return now.ones;
    if (measure == "io_pressure") return now.io_pressure;
    if (measure == "throughput") return fleet.throughput();
    if (measure == "throughput_predicted_low") return fleet.predicted_low();
    return {};
  }

  const int per_node_;
  watch::detection::Detectors gpus_{TheRules(), watch::detection::Of::kGpu};
  watch::detection::Detectors nodes_{TheRules(), watch::detection::Of::kNode};
  watch::detection::Detectors jobs_{TheRules(), watch::detection::Of::kJob};
  watch::detection::Policy policy_{TheRules()};
  std::vector<watch::detection::Notice> notices_;
  std::vector<std::uint8_t> silent_;
  std::vector<std::pair<std::int64_t, Told>> ids_;
};

struct Run {
  Telling ours;
  Rival threshold{Rival::How::kThreshold};
  Rival average{Rival::How::kMovingAverage};
  double our_seconds = 0;
  double fleet_seconds = 0;
};

Run RunOn(int seed) {
  const testing::FleetShape shape = {.nodes = absl::GetFlag(FLAGS_nodes),
                                     .minutes = absl::GetFlag(FLAGS_days) * 1440,
                                     .faults = absl::GetFlag(FLAGS_faults)};
  const bool rivals = absl::GetFlag(FLAGS_training_count) > 0;
  Run run;
  testing::MadeUpFleet fleet(shape, static_cast<std::uint64_t>(seed));
  Watched now(fleet);
  Ours ours(shape.gpus);
  double last = ThreadSeconds();
  const auto lap = [&] {
    const double before = std::exchange(last, ThreadSeconds());
    return last - before;
  };
  while (fleet.Next()) {
    now.Take();
    run.fleet_seconds += lap();
    for (Told& told : ours.Step(now)) run.ours.told.push_back(std::move(told));
    run.our_seconds += lap();
    if (rivals) {
      run.threshold.Step(now);
      run.average.Step(now);
      lap();
    }
  }
  run.ours.faults = fleet.faults();
  run.ours.minutes = shape.minutes;
  return run;
}

void Explain(int seed, const Telling& telling) {
  Score score;
  AddScore(telling, score);
  std::printf("seed %d\n", seed);
  for (const Told& told : score.wrong) {
    std::printf("  FALSE day %.2f node %d job %d %s\n", told.minute / 1440.0, told.node, told.job,
                told.what.c_str());
  }
  for (const testing::PlantedFault& fault : telling.faults) {
    const Told* first = nullptr;
    for (const Told& told : telling.told) {
      if (IsRight(told, fault) && (first == nullptr || told.minute < first->minute)) first = &told;
    }
    const bool late =
        fault.visible30 >= 0 && (first == nullptr || first->minute >= fault.visible30);
    std::printf("  %s %-20s begin %d ramp %d depth %.2f visible %d, %d end %d told %d %s\n",
                late ? "LATE" : "    ", testing::NameOf(fault.kind), fault.begin, fault.ramp,
                fault.depth, fault.visible10 - fault.begin, fault.visible30 - fault.begin,
                fault.end - fault.begin, first == nullptr ? -1 : first->minute - fault.begin,
                first == nullptr ? "" : first->what.c_str());
  }
}

void Main() {
  const int count = absl::GetFlag(FLAGS_count);
  const int training = absl::GetFlag(FLAGS_training_count);
  std::vector<std::size_t> levels[2];
  double our_seconds = 0;
  double fleet_seconds = 0;
  if (training > 0) {
    std::vector<Rival> runs[2];
    std::vector<Telling> truths;
    for (int i = 0; i < training; ++i) {
      Run run = RunOn(absl::GetFlag(FLAGS_training) + i);
      runs[0].push_back(std::move(run.threshold));
      runs[1].push_back(std::move(run.average));
      truths.push_back(std::move(run.ours));
      truths.back().told.clear();
    }
    const double weeks = training * absl::GetFlag(FLAGS_days) / 7.0;
    for (int rival = 0; rival < 2; ++rival) {
      levels[rival] = Choose(runs[rival], truths, weeks);
      std::printf("%s, chosen on seeds %d to %d for at most one false alarm a week:",
                  rival == 0 ? "threshold" : "moving average", absl::GetFlag(FLAGS_training),
                  absl::GetFlag(FLAGS_training) + training - 1);
      for (std::size_t m = 0; m < levels[rival].size(); ++m) {
        const Rival::Metric& metric = runs[rival][0].metrics()[m];
        if (levels[rival][m] >= kLevels) continue;
        std::printf(" %s %g,", metric.name.c_str(),
                    static_cast<double>(metric.levels[levels[rival][m]]));
      }
      std::printf("\n");
    }
  }
  Score scores[3];
  for (int i = 0; i < count; ++i) {
    const int seed = absl::GetFlag(FLAGS_seeds) + i;
    const Run run = RunOn(seed);
    our_seconds += run.our_seconds;
    fleet_seconds += run.fleet_seconds;
    AddScore(run.ours, scores[0]);
    Score alone;
    AddScore(run.ours, alone);
    std::printf("%s", Row(absl::StrCat("seed ", seed), alone).c_str());
    std::fflush(stdout);
    if (absl::GetFlag(FLAGS_verbose)) Explain(seed, run.ours);
    if (training == 0) continue;
    AddScore(With(run.threshold, run.ours, levels[0]), scores[1]);
    AddScore(With(run.average, run.ours, levels[1]), scores[2]);
  }
  std::printf("%s%s", Row("early warning", scores[0]).c_str(), Table(scores[0]).c_str());
  if (training > 0) {
    std::printf("%s%s", Row("plain threshold", scores[1]).c_str(), Table(scores[1]).c_str());
    std::printf("%s%s", Row("moving average", scores[2]).c_str(), Table(scores[2]).c_str());
  }
  std::printf("processor time of a fleet of %d days: %.1f s to make up, %.1f s to watch\n",
              absl::GetFlag(FLAGS_days), fleet_seconds / count, our_seconds / count);
}

}  // namespace
}  // namespace galen::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  galen::bench::Main();
  return 0;
}
