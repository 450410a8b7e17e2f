#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/cuda/checks.h"
#include "services/node/checks/cuda/gpus.h"
#include "services/node/checks/cuda/outcome.h"

namespace galen::node {
namespace {

using End = GpuTestRun::End;

// One of the two phases of the load.
struct Phase {
  bool begun = false;
  bool done = false;
  std::int64_t wrong = 0;  // results, not finite ones included
  std::vector<double> power;
  std::vector<double> clock;
  std::optional<double> temperature;  // the highest
  std::optional<double> limit;        // of power, the last

  // Whether the GPU lived through it with right results; none where it was not begun.
  std::optional<bool> stable() const {
    if (!begun) return std::nullopt;
    return done && wrong == 0;
  }
};

Phase PhaseOf(const GpuTestRun& run, absl::string_view name) {
  Phase phase;
  for (const GpuTestLine& line : run.lines) {
    if (line.kind == "phase" && line.Text("name") == name) phase.begun = true;
    if (line.Text("phase") != name) continue;
    if (line.kind == "result") {
      phase.done = true;
      phase.wrong = line.Integer("mismatches").value_or(0) + line.Integer("not_finite").value_or(0);
    } else if (line.kind == "sample") {
      if (const auto power = line.Number("power")) phase.power.push_back(*power);
      if (const auto clock = line.Number("clock")) phase.clock.push_back(*clock);
      if (const auto limit = line.Number("limit")) phase.limit = limit;
      if (const auto celsius = line.Number("temperature")) {
        phase.temperature = std::max(phase.temperature.value_or(*celsius), *celsius);
      }
    }
  }
  return phase;
}

// Mean of the later half: what it settles at.
std::optional<double> Settled(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = samples.size() / 2; i < samples.size(); ++i) sum += samples[i];
  return sum / static_cast<double>(samples.size() - samples.size() / 2);
}

// The smallest of the later half: clocks are low before the load begins.
std::optional<double> Least(const std::vector<double>& samples) {
  if (samples.empty()) return std::nullopt;
  return *std::min_element(samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2),
                           samples.end());
}

// Whether the GPU is still there after a load that did not end well: a fresh process asks for it.
// Unknown where that process was not answered by the GPU.
absl::StatusOr<std::optional<bool>> IsLost(const CheckContext& context, const TestGpus& gpus,
                                           const TestGpu& gpu) {
  std::vector<std::string> arguments = CommonArguments(context, "init");
  arguments.push_back(absl::StrCat("gpu=", gpu.address));
  GALEN_ASSIGN_OR_RETURN(
      const GpuTestRun run,
      RunGpuTest(gpus.program, arguments, RunDeadline(context), context.cancelled, nullptr));
  if (run.end == End::kCancelled) return absl::CancelledError("cancelled");
  if (run.end == End::kDone) return false;
  if (run.end == End::kHung || (run.end == End::kFailed && TellsOfGpu(run.code))) return true;
  return std::nullopt;
}

// The gentle phase is what stands for a lower limit of power: no setting of the machine is touched.
// It says something only where the full load goes wrong.
std::optional<bool> StableAtLower(const Phase& gentle, const Phase& full) {
  if (gentle.stable() == false) return false;
  if (full.stable() == false) return true;
  return std::nullopt;
}

void Tell(Outcome& outcome, const TestGpu& gpu, const GpuTestRun& run, std::optional<bool> lost,
          double target_share) {
  const bool done = outcome.Ended(gpu, run);
  const Phase gentle = PhaseOf(run, "gentle");
  const Phase full = PhaseOf(run, "full");
  // A load that was not ended by the GPU itself says nothing about it.
  const bool ended_by_gpu = done || run.end == End::kFailed || run.end == End::kHung;
  const std::optional<double> power = Settled(full.power);
  std::optional<bool> reached;
  if (done && power.has_value() && full.limit.value_or(0) > 0) {
    reached = *power >= target_share * *full.limit;
  }
  std::optional<std::int64_t> wrong;
  if (gentle.done || full.done) wrong = gentle.wrong + full.wrong;
  outcome.Bool("device_lost", gpu.device, lost).set_expected("false");
  outcome.Bool("reached_target_power", gpu.device, reached);
  outcome.Bool("stable_at_lower_limit", gpu.device,
               ended_by_gpu ? StableAtLower(gentle, full) : std::nullopt);
  outcome.Int("wrong_results", gpu.device, wrong).set_expected("0");
  outcome.Float("power_w", gpu.device, power);
  outcome.Float("power_limit_w", gpu.device, full.limit);
  outcome.Float("sm_clock_min_mhz", gpu.device, Least(full.clock));
  outcome.Float("temperature_max_c", gpu.device, full.temperature);
  for (const auto& [name, phase] : {std::pair("gentle", &gentle), {"full", &full}}) {
    if (!phase->begun) continue;
    const auto shown = [](std::optional<double> value) {
      return value.has_value() ? Rounded(*value) : std::string("?");
    };
    outcome.Show(absl::StrCat(gpu.device, " ", name, ": ", phase->done ? "through" : "not through",
                              ", ", phase->wrong, " wrong, power ", shown(Settled(phase->power)),
                              " of ", shown(phase->limit), " W, clock from ",
                              shown(Least(phase->clock)), " MHz, up to ", shown(phase->temperature),
                              " C"));
  }
  if (lost.value_or(false)) outcome.Say(gpu.device, "lost under load");
  if (wrong.value_or(0) > 0) {
    outcome.Say(gpu.device, absl::StrCat(*wrong, " wrong results under load"));
  } else if (done) {
    outcome.Say(gpu.device,
                absl::StrCat("right results under full load",
                             power.has_value() ? absl::StrCat(", ", Rounded(*power), " W") : ""));
  }
}

}  // namespace

absl::StatusOr<CheckOutput> CheckStressPower(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "gpu.stress_power"));
  GALEN_ASSIGN_OR_RETURN(const double target_share, data.Number("target_power_share"));
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  // All at once: that is what the power supply has to bear.
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<GpuTestRun> runs, RunOnEach(context, gpus, [&](const TestGpu& gpu) {
        std::vector<std::string> arguments = CommonArguments(context, "stress");
        arguments.push_back(absl::StrCat("gpu=", gpu.address));
        arguments.push_back(absl::StrCat("seconds=", context.parameters.Number("seconds")));
        arguments.push_back(absl::StrCat("duty=", context.parameters.Number("gentle_duty")));
        return arguments;
      }));
  Outcome outcome(context);
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::optional<bool> lost;
    if (runs[i].end == End::kDone) lost = false;
    if (runs[i].end == End::kFailed || runs[i].end == End::kHung) {
      GALEN_ASSIGN_OR_RETURN(lost, IsLost(context, gpus, *tested[i]));
    }
    Tell(outcome, *tested[i], runs[i], lost, target_share);
  }
  return std::move(outcome).Finish(gpus);
}

}  // namespace galen::node
