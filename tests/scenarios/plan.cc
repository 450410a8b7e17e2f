#include "tests/scenarios/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::scenarios {
namespace {

constexpr double kMostSamples = 1'500'000;

std::vector<std::string> NodeNames(Random rng, int count) {
  static const std::vector<const char*> kPatterns = {"chi%04d", "gpu-%03d", "node%03d", "h-%04d",
                                                     "mi-r%03d"};
  const char* const pattern = rng.Pick(kPatterns);
  std::vector<int> numbers;
  const int first = rng.Int(1, 700);
  for (int i = 0; i < count * 2; ++i) numbers.push_back(first + i);
  rng.Shuffle(numbers);
  numbers.resize(static_cast<std::size_t>(count));
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::string> names;
  const auto format = absl::ParsedFormat<'d'>::New(pattern);
  for (const int number : numbers) names.push_back(absl::StrFormat(*format, number));
  return names;
}

double Ramped(absl::Time at, absl::Time from, absl::Duration ramp) {
  if (at < from) return 0;
  return ramp <= absl::ZeroDuration() || at >= from + ramp ? 1.0
                                                           : absl::FDivDuration(at - from, ramp);
}

}  // namespace

double JobPlan::SlowAt(absl::Time at, bool idle_only) const {
  double factor = 1;
  for (const Slowdown& slowdown : slow) {
    if (at < slowdown.from || at >= slowdown.to || (idle_only && !slowdown.idles)) continue;
    factor = std::max(factor, 1 + (slowdown.factor - 1) * Ramped(at, slowdown.from, slowdown.ramp));
  }
  return factor;
}

std::string Plan::Port(int device) const {
  return absl::StrCat(style == Style::kAmd ? "ionic_" : "mlx5_", device);
}
std::string Plan::GpuPlace(int node, int gpu) const {
  return absl::StrCat(nodes[static_cast<std::size_t>(node)], "/", gpu);
}
std::string Plan::PortPlace(int node, int port) const {
  return absl::StrCat(nodes[static_cast<std::size_t>(node)], "/", Port(port));
}

int Plan::TakeNode() {
  const int node = unused.back();
  unused.pop_back();
  return node;
}

Plan MakePlan(Style style, const Random& of, int nodes) {
  Plan plan(of, style);
  Random rng = of.Of("machines");
  if (nodes == 0) nodes = rng.Pick(std::vector<int>{8, 12, 16, 24, 24, 24, 32, 48, 64});
  plan.nodes = NodeNames(of.Of("names"), nodes);
  plan.ports = nodes <= 24 ? rng.Pick(std::vector<int>{4, 8}) : rng.Pick(std::vector<int>{2, 4});
  plan.start = absl::FromUnixSeconds(1'735'689'600 + std::int64_t{rng.Int(0, 330 * 24 * 60)} * 60);
  const int minutes = rng.Int(100, 150);
  plan.end = plan.start + absl::Minutes(minutes);
  const double series = nodes * (plan.gpus * 7.0 + plan.ports * 6.0 + 16);
  plan.interval = absl::Seconds(30);
  for (const int seconds : {15, 10}) {
    if (series * minutes * 60 / seconds <= kMostSamples) plan.interval = absl::Seconds(seconds);
  }

  JobPlan job;
  job.name = absl::StrCat(rng.Int(4000, 99999));
  for (int i = 0; i < nodes; ++i) job.nodes.push_back(i);
  job.start = plan.start + absl::Seconds(rng.Int(60, 240));
  job.train = job.start + absl::Seconds(rng.Int(120, 400));
  job.end = plan.end;
  job.step_seconds = rng.Between(8, 22);
  job.step_noise = rng.Between(0.002, 0.005);
  job.tokens = style == Style::kAmd ? rng.Between(2900, 3500) : rng.Between(5200, 7800);
  // Every 12 to 20 minutes.
  job.checkpoint_period =
      std::max(10, static_cast<int>(rng.Int(12, 20) * 60 / job.step_seconds / 10) * 10);
  job.checkpoint_seconds = rng.Between(20, 50);
  job.total_steps = rng.Pick(std::vector<int>{1000, 2000, 5000, 10'000, 50'000});
  job.data_seconds = rng.Between(0.02, 0.12);

  for (int i = 1; i < nodes; ++i) plan.unused.push_back(i);
  of.Of("roles").Shuffle(plan.unused);
  // Writers of checkpoints have no other role: the first in the list are taken last.
  const int writers = std::max(1, nodes / 6);
  for (int i = 0; i < writers; ++i) job.writers.push_back(plan.unused[static_cast<std::size_t>(i)]);
  plan.unused.erase(plan.unused.begin(), plan.unused.begin() + writers);
  plan.jobs.push_back(std::move(job));
  return plan;
}

void Simulate(JobPlan& job, const Random& of) {
  Random rng = of.Of("steps");
  const double loss_end = rng.Between(1.9, 2.6);
  const double norm = rng.Between(0.25, 0.9);
  const double balance = rng.Between(1.01, 1.15);
  const double rate = rng.Scale(1e-4, 6e-4);
  absl::Time at = job.train;
  const absl::Time until = job.stuck.value_or(job.end);
  double wander = 0;
  for (int number = job.first_step;; ++number) {
    Step step;
    step.number = number;
    step.begin = at;
    step.seconds = job.step_seconds * job.SlowAt(at, false) * (1 + job.step_noise * rng.Normal());
    if (rng.Chance(0.01)) step.seconds *= 1 + rng.Between(0.01, 0.05);
    step.data_seconds = job.data_seconds * (1 + 0.15 * rng.Normal());
    if (job.starved.has_value() && at >= *job.starved) {
      const double more = job.starved_seconds * Ramped(at, *job.starved, absl::Minutes(10)) *
                          (1 + 0.08 * rng.Normal());
      step.data_seconds += more;
      step.seconds += more;
    }
    if (number == job.first_step) step.seconds += rng.Between(30, 120);  // it compiles
    step.checkpoint = number > job.first_step && number % job.checkpoint_period == 0;
    if (step.checkpoint) {
      const double saving = job.checkpoint_seconds * rng.Between(0.85, 1.2);
      job.checkpoints.push_back({at, at + absl::Seconds(saving)});
      step.seconds += saving;
    }
    step.end = at + absl::Seconds(step.seconds);
    if (step.end > until) break;
    step.tokens = job.tokens * job.step_seconds / step.seconds;
    wander = 0.9 * wander + 0.1 * rng.Normal();
    step.loss = loss_end + 7 * std::exp(-number / 150.0) + 0.03 * rng.Normal() + 0.02 * wander;
    step.gradient_norm =
        norm * (1 + 0.12 * rng.Normal() + 0.1 * wander) + 3 * std::exp(-number / 40.0);
    step.learning_rate = rate * std::min(1.0, (number + 1) / 200.0);
    step.load_balance_loss = balance * (1 + 0.006 * rng.Normal());
    if (job.imbalance.has_value() && at >= *job.imbalance) {
      const double shape = Ramped(at, *job.imbalance, absl::Minutes(4));
      step.load_balance_loss *= 1 + (job.imbalance_factor - 1) * shape * (1 + 0.05 * rng.Normal());
    }
    at = step.end;
    job.steps.push_back(step);
  }
  while (!job.checkpoints.empty() && job.checkpoints.back().to > until) job.checkpoints.pop_back();
}

void WriteCheckpoints(Plan& plan) {
  Random rng = plan.rng.Of("checkpoints");
  for (const JobPlan& job : plan.jobs) {
    const double memory = rng.Between(40e9, 120e9);
    for (const Span& span : job.checkpoints) {
      for (const int node : job.writers) {
        const absl::Time to = span.to + absl::Seconds(rng.Between(0, 12));
        const auto add = [&](Signal signal, double amount) {
          plan.effects.push_back({signal, node, -1, span.from, to, Effect::kAdd, amount});
        };
        add(Signal::kTcpRetransmits, rng.Scale(500, 3000));
        add(Signal::kIoStalled, rng.Between(0.2, 0.7));
        add(Signal::kBlocked, rng.Between(8, 22));
        add(Signal::kDirty, rng.Between(8e9, 40e9));
        add(Signal::kWriteback, rng.Between(0.5e9, 4e9));
        add(Signal::kMemoryAvailable, -memory);
      }
    }
  }
}

}  // namespace galen::scenarios
