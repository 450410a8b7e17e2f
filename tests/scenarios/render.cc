// Renders a plan as the series of its exporters.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/scenarios/plan.h"
#include "tests/scenarios/signals.h"

namespace galen::scenarios {
namespace {

using telemetry::Labels;
using telemetry::TimeSeries;

// An exporter of a node: all that it says it says at the same times.
struct Target {
  std::string name;  // "dcgm"
  int port = 0;
  std::vector<absl::Time> times;
  std::vector<absl::Time> missed;
  std::vector<Activity> activities;
  std::vector<double> waiting;  // share of time in which GPUs wait for others
};

double Ramped(absl::Time at, const Effect& effect) {
  if (effect.ramp <= absl::ZeroDuration() || at >= effect.from + effect.ramp) return 1;
  return absl::FDivDuration(at - effect.from, effect.ramp);
}

Activity ActivityOf(const JobPlan& job, absl::Time at) {
  if (at < job.train) return Activity::kStarting;
  if (job.stuck.has_value() && at >= *job.stuck) return Activity::kHung;
  for (const Span& span : job.checkpoints) {
    if (at >= span.from && at < span.to) return Activity::kCheckpoint;
  }
  return Activity::kTraining;
}

class Renderer {
 public:
  explicit Renderer(const Plan& plan) : plan_(plan) {}

  std::vector<TimeSeries> Take() {
    for (std::size_t node = 0; node < plan_.nodes.size(); ++node) Node(static_cast<int>(node));
    for (const JobPlan& job : plan_.jobs) Training(job);
    return std::move(series_);
  }

 private:
  bool amd() const { return plan_.style == Style::kAmd; }
  const std::string& Name(int node) const { return plan_.nodes[static_cast<std::size_t>(node)]; }

  Target MakeTarget(int node, const std::string& name, int port) {
    Target target{name, port, {}, {}, {}, {}};
    Random rng = plan_.rng.Of(name, static_cast<std::uint64_t>(node) + 1);
    const absl::Duration offset = plan_.interval * rng.Uniform();
    absl::Time end = plan_.end;
    for (const End& of : plan_.ends) {
      if (of.node == node) end = of.at;
    }
    const JobPlan* job = nullptr;
    int gap = 0;
    for (absl::Time at = plan_.start + offset; at <= plan_.end; at += plan_.interval) {
      const absl::Time when =
          absl::FromUnixMillis(absl::ToUnixMillis(at + absl::Milliseconds(rng.Int(0, 40))));
      if (gap == 0 && rng.Chance(0.0015)) gap = rng.Chance(0.2) ? rng.Int(2, 4) : 1;
      if (gap > 0 || when > end) {
        gap = std::max(0, gap - 1);
        target.missed.push_back(when);
        continue;
      }
      target.times.push_back(when);
      job = nullptr;
      for (const JobPlan& of : plan_.jobs) {
        const bool has = std::count(of.nodes.begin(), of.nodes.end(), node) > 0;
        if (has && when >= of.start && when < of.end) job = &of;
      }
      target.activities.push_back(job == nullptr ? Activity::kIdle : ActivityOf(*job, when));
      target.waiting.push_back(job == nullptr ? 0 : 1 - 1 / job->SlowAt(when, true));
    }
    return target;
  }

  // The labels that all series of an exporter have.
  Labels Base(int node, const Target& target) const {
    Labels labels = {{"instance", absl::StrCat(Name(node), ":", target.port)},
                     {"job", target.name}};
    if (amd()) labels["host"] = Name(node);
    return labels;
  }

  void Add(Labels labels, std::vector<timeseries::Sample> samples) {
    if (!samples.empty()) series_.push_back({std::move(labels), std::move(samples)});
  }

  void Node(int node) {
    std::vector<Target> targets;
    if (amd()) {
      targets.push_back(MakeTarget(node, "hw", 9400));
      targets.push_back(MakeTarget(node, "ray", 55080));
    } else {
      targets.push_back(MakeTarget(node, "dcgm", 9400));
      targets.push_back(MakeTarget(node, "node", 9100));
    }
    for (const SignalRow& row : SignalRows()) {
      const Exported& exported = amd() ? row.of_amd : row.of_nvidia;
      if (exported.metric == nullptr || plan_.left_out.count(row.signal) > 0) continue;
      for (const Target& target : targets) {
        if (target.name != exported.target) continue;
        const int devices = row.of == Of::kGpu ? plan_.gpus : row.of == Of::kPort ? plan_.ports : 1;
        for (int device = 0; device < devices; ++device)
          Add(LabelsOf(node, target, row, exported, device),
              SamplesOf(node, target, row, exported, device));
      }
    }
    for (const Target& target : targets) Scrapes(node, target);
  }

  Labels LabelsOf(int node, const Target& target, const SignalRow& row, const Exported& exported,
                  int device) const {
    Labels labels = Base(node, target);
    labels[telemetry::kMetricName] = exported.metric;
    if (exported.label != nullptr) labels[exported.label] = exported.value;
    if (row.of == Of::kPort) {
      labels["device"] = plan_.Port(device);
      labels["port"] = "1";
    } else if (row.of == Of::kGpu && amd()) {
      labels[target.name == "ray" ? "GpuIndex" : "gpu"] = absl::StrCat(device);
    } else if (row.of == Of::kGpu) {
      labels["gpu"] = absl::StrCat(device);
      labels["device"] = absl::StrCat("nvidia", device);
      labels["Hostname"] = Name(node);
      labels["modelName"] = "NVIDIA H100 80GB HBM3";
      Random uuid = plan_.rng.Of("uuid", Number(node, device));
      const std::uint64_t bits = uuid.Next();
      labels["UUID"] =
          absl::StrFormat("GPU-%08x-%04x-%04x-%04x-%012x", bits >> 32, (bits >> 16) & 0xffff,
                          bits & 0xffff, uuid.Next() & 0xffff, uuid.Next() & 0xffffffffffff);
    } else if (row.signal == Signal::kNfsReads || row.signal == Signal::kNfsReadTime) {
      labels["export"] = "storage:/data";
      labels["protocol"] = "tcp";
      labels["mountaddr"] = "10.0.0.9";
    }
    return labels;
  }

  static std::uint64_t Number(int node, int device) {
    return static_cast<std::uint64_t>(node) * 64 + static_cast<std::uint64_t>(device);
  }

  std::vector<timeseries::Sample> SamplesOf(int node, const Target& target, const SignalRow& row,
                                            const Exported& exported, int device) {
    Random rng = plan_.rng.Of(row.quantity, Number(node, device) + 1);
    const Levels& levels = amd() ? row.amd : row.nvidia;
    const double own = 1 + row.spread * rng.Normal();
    std::vector<const Effect*> effects;
    for (const Effect& effect : plan_.effects) {
      if (effect.signal == row.signal && (effect.node < 0 || effect.node == node) &&
          (effect.device < 0 || effect.device == device))
        effects.push_back(&effect);
    }
    std::vector<timeseries::Sample> samples;
    samples.reserve(target.times.size());
    double sum = row.counter ? LifetimeOf(row, levels, node, device, rng) : 0;
    const absl::Time reset = ResetOf(row, node, device);
    double noise = 0;
    for (std::size_t i = 0; i < target.times.size(); ++i) {
      const absl::Time at = target.times[i];
      const absl::Time before = i == 0 ? at - plan_.interval : target.times[i - 1];
      double level = levels.At(target.activities[i]) * own;
      level -= (level - levels.idle) * row.waits * target.waiting[i];
      noise = 0.6 * noise + 0.8 * rng.Normal();
      level *= 1 + row.noise * noise;
      double jump = 0;
      for (const Effect* const effect : effects) {
        if (effect->how == Effect::kCount) {
          if (before < effect->from && effect->from <= at) jump += effect->amount;
        } else if (at >= effect->from && at < effect->to) {
          level = Changed(level, *effect, at, 1 + row.noise * noise);
        }
      }
      level += row.jitter * rng.Normal();
      level = std::clamp(level, 0.0, row.most);
      if (row.counter) {
        if (before < reset && reset <= at) sum = 0;
        const double growth = level * absl::ToDoubleSeconds(at - before);
        sum += jump + (row.grain > 0 ? Counted(growth, rng) : growth);
        samples.push_back({absl::ToUnixMillis(at), exported.scale * sum});
      } else {
        if (row.grain > 0) level = std::round(level / row.grain) * row.grain;
        samples.push_back({absl::ToUnixMillis(at), exported.scale * level});
      }
    }
    return samples;
  }

  static double Changed(double level, const Effect& effect, absl::Time at, double noise) {
    const double ramped = Ramped(at, effect);
    switch (effect.how) {
      case Effect::kAdd:
        return level + effect.amount * ramped * noise;
      case Effect::kScale:
        return level * (1 + (effect.amount - 1) * ramped);
      case Effect::kSet:
        return effect.amount;
      case Effect::kAtMost:
        return std::min(level, effect.amount);
      case Effect::kCount:
        break;
    }
    return level;
  }

  // Events come by chance.
  static double Counted(double expected, Random& rng) {
    if (expected <= 0) return 0;
    const double drawn = expected + std::sqrt(expected) * rng.Normal();
    return std::max(0.0, std::floor(drawn + rng.Uniform()));
  }

  double LifetimeOf(const SignalRow& row, const Levels& levels, int node, int device,
                    Random& rng) const {
    for (const Lifetime& of : plan_.lifetimes) {
      if (of.signal == row.signal && of.node == node && of.device == device)
        return std::floor(of.value);
    }
    const double usual = levels.training * rng.Scale(0.5, 60) * 86'400 * 0.6;
    if (usual > 0) return row.grain > 0 ? std::floor(usual) : usual;
    return rng.Chance(0.8) ? 0 : std::floor(rng.Scale(1, 1500));
  }

  // A person clears the counters of a port (perfquery -R), in half of the scenes.
  absl::Time ResetOf(const SignalRow& row, int node, int device) const {
    Random rng = plan_.rng.Of("reset");
    const bool any = rng.Chance(0.5);
    const int of_node = rng.Int(0, static_cast<int>(plan_.nodes.size()) - 1);
    const int of_device = rng.Int(0, plan_.ports - 1);
    const double when = rng.Uniform();
    return any && row.of == Of::kPort && node == of_node && device == of_device
               ? plan_.start + (plan_.end - plan_.start) * when
               : absl::InfiniteFuture();
  }

  void Scrapes(int node, const Target& target) {
    Random rng = plan_.rng.Of("scrapes", static_cast<std::uint64_t>(node) * 8 + 1);
    std::vector<timeseries::Sample> up;
    std::vector<timeseries::Sample> duration;
    for (const absl::Time at : target.times) {
      up.push_back({absl::ToUnixMillis(at), 1});
      duration.push_back({absl::ToUnixMillis(at), 0.1 * (1 + 0.15 * rng.Normal())});
    }
    for (const absl::Time at : target.missed) up.push_back({absl::ToUnixMillis(at), 0});
    std::sort(up.begin(), up.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    Labels labels = Base(node, target);
    labels[telemetry::kMetricName] = "scrape_duration_seconds";
    Add(labels, duration);
    labels[telemetry::kMetricName] = "up";
    Add(labels, std::move(up));
    if (target.name == "hw") {
      labels[telemetry::kMetricName] = "hw_scrape_duration_seconds";
      Add(labels, std::move(duration));
    }
  }

  // At each scrape, rank 0 of the loop reports its last step; in NVIDIA's style, the first rank of
  // each node reports its step's time and its wait for data.
  void Training(const JobPlan& job) {
    struct Told {
      Signal signal;
      const char* amd;
      const char* nvidia;
      double (*value)(const Step&);
      bool each = false;
    };
    static constexpr Told kTold[] = {
        {Signal::kStep, "tb_step", "training_step",
         [](const Step& step) { return static_cast<double>(step.number); }},
        {Signal::kThroughput, "tb_perf_per_device_tokens_per_sec", "training_tokens_per_second",
         [](const Step& step) { return step.tokens; }},
        {Signal::kStepTime, "tb_perf_step_time_seconds", "training_step_time_seconds",
         [](const Step& step) { return step.seconds; }, true},
        {Signal::kDataTime, nullptr, "training_data_time_seconds",
         [](const Step& step) { return step.data_seconds; }, true},
        {Signal::kLoss, "tb_learning_loss", "training_loss",
         [](const Step& step) { return step.loss; }},
        {Signal::kGradientNorm, "tb_learning_grad_norm", "training_grad_norm",
         [](const Step& step) { return step.gradient_norm; }},
        {Signal::kLearningRate, "tb_learning_current_learning_rate", "training_learning_rate",
         [](const Step& step) { return step.learning_rate; }},
        {Signal::kLoadBalanceLoss, "tb_learning_moe_lb_loss", "training_load_balance_loss",
         [](const Step& step) { return step.load_balance_loss; }},
    };
    for (std::size_t i = 0; i < job.nodes.size(); ++i) {
      if (amd() && i > 0) break;
      const int node = job.nodes[i];
      const Target target = MakeTarget(node, amd() ? "hw" : "training", amd() ? 9400 : 8000);
      for (const Told& told : kTold) {
        const char* const metric = amd() ? told.amd : told.nvidia;
        if (metric == nullptr || plan_.left_out.count(told.signal) > 0 || (i > 0 && !told.each))
          continue;
        if (told.signal == Signal::kLoadBalanceLoss && !job.moe) continue;
        Labels labels = Base(node, target);
        labels[telemetry::kMetricName] = metric;
        labels["job_id"] = job.name;
        if (!amd()) {
          labels["host"] = Name(node);
          labels["rank"] = absl::StrCat(i * static_cast<std::size_t>(plan_.gpus));
          labels["local_rank"] = "0";
        }
        Random rng = plan_.rng.Of(metric, static_cast<std::uint64_t>(node) + 1);
        std::vector<timeseries::Sample> samples;
        std::size_t step = 0;
        for (const absl::Time at : target.times) {
          while (step < job.steps.size() && job.steps[step].end <= at) ++step;
          if (step == 0 || at >= job.end) continue;
          double value = told.value(job.steps[step - 1]);
          if (told.each && i > 0) value *= 1 + 0.001 * rng.Normal();
          samples.push_back({absl::ToUnixMillis(at), value});
        }
        Add(std::move(labels), std::move(samples));
      }
    }
  }

  const Plan& plan_;
  std::vector<TimeSeries> series_;
};

}  // namespace

std::vector<TimeSeries> Render(const Plan& plan) { return Renderer(plan).Take(); }

}  // namespace galen::scenarios
