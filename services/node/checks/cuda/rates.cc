#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/node/checks/cuda/checks.h"
#include "services/node/checks/cuda/gpus.h"
#include "services/node/checks/cuda/outcome.h"

namespace galen::node {
namespace {

std::optional<double> NumberOf(const GpuTestRun& run, absl::string_view name) {
  const GpuTestLine* const result =
      run.end == GpuTestRun::End::kDone ? run.Find("result") : nullptr;
  return result == nullptr ? std::nullopt : result->Number(name);
}

std::optional<std::int64_t> IntegerOf(const GpuTestRun& run, absl::string_view name) {
  const GpuTestLine* const result =
      run.end == GpuTestRun::End::kDone ? run.Find("result") : nullptr;
  return result == nullptr ? std::nullopt : result->Integer(name);
}

// "123 GB/s", and " (floor 150)" where there is one.
std::string RateText(std::optional<double> rate, absl::string_view unit,
                     std::optional<double> floor = std::nullopt) {
  if (!rate.has_value()) return "unknown";
  return absl::StrCat(Rounded(*rate), " ", unit,
                      floor.has_value() ? absl::StrCat(" (floor ", Rounded(*floor), ")") : "");
}

// The rates of the GPUs of the same model; other models cannot be compared.
std::vector<std::optional<double>> OfSameModel(const std::vector<const TestGpu*>& gpus,
                                               const std::vector<GpuTestRun>& runs,
                                               const std::string& model, absl::string_view name) {
  std::vector<std::optional<double>> rates;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (gpus[i]->name == model) rates.push_back(NumberOf(runs[i], name));
  }
  return rates;
}

void TellBelowMedian(Outcome& outcome, const TestGpu& gpu, std::optional<double> below) {
  outcome.Float("below_peer_median_pct", gpu.device, below);
}

absl::StatusOr<std::vector<GpuTestRun>> Run(const CheckContext& context, const TestGpus& gpus,
                                            absl::string_view test, absl::string_view size_name,
                                            bool one_by_one) {
  return RunOnEach(
      context, gpus,
      [&](const TestGpu& gpu) {
        std::vector<std::string> arguments = CommonArguments(context, test);
        arguments.push_back(absl::StrCat("gpu=", gpu.address));
        arguments.push_back(absl::StrCat("seconds=", context.parameters.Number("seconds")));
        arguments.push_back(absl::StrCat(size_name, "=", context.parameters.Integer(size_name)));
        return arguments;
      },
      one_by_one);
}

// The remark that follows a GPU's rate.
std::string BelowText(std::optional<double> below) {
  if (!below.has_value()) return ", no GPU to compare with";
  return *below == 0 ? "" : absl::StrCat(", ", Rounded(*below), " % below the median of the GPUs");
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGemmRate(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  GALEN_ASSIGN_OR_RETURN(const std::vector<GpuTestRun> runs,
                         Run(context, gpus, "gemm", "size", false));
  Outcome outcome(context);
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TestGpu& gpu = *tested[i];
    const bool done = outcome.Ended(gpu, runs[i]);
    const std::optional<double> rate = NumberOf(runs[i], "tflops");
    const std::optional<double> below =
        BelowMedianPercent(rate, OfSameModel(tested, runs, gpu.name, "tflops"));
    outcome.Float("tflops", gpu.device, rate);
    TellBelowMedian(outcome, gpu, below);
    outcome.Int("wrong_elements", gpu.device, IntegerOf(runs[i], "wrong")).set_expected("0");
    if (done) {
      outcome.Say(gpu.device,
                  absl::StrCat(RateText(rate, "TFLOP/s in single precision"), BelowText(below)));
    }
  }
  return std::move(outcome).Finish(gpus);
}

absl::StatusOr<CheckOutput> CheckHbmBandwidth(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  GALEN_ASSIGN_OR_RETURN(const std::vector<GpuTestRun> runs,
                         Run(context, gpus, "hbm", "mib", false));
  Outcome outcome(context);
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TestGpu& gpu = *tested[i];
    const bool done = outcome.Ended(gpu, runs[i]);
    const std::optional<double> rate = NumberOf(runs[i], "gb_s");
    const std::optional<double> floor = gpu.Fact("memory_floor_gb_s");
    const std::optional<double> below =
        BelowMedianPercent(rate, OfSameModel(tested, runs, gpu.name, "gb_s"));
    v1::Finding& finding = outcome.Float("gb_s", gpu.device, rate);
    if (floor.has_value()) finding.set_expected(absl::StrCat(*floor));
    outcome.Float("floor_gb_s", gpu.device, floor);
    outcome.Float("peak_gb_s", gpu.device, gpu.Fact("memory_gb_s"));
    TellBelowMedian(outcome, gpu, below);
    if (done) {
      outcome.Say(gpu.device,
                  absl::StrCat(RateText(rate, "GB/s read and written", floor), BelowText(below)));
    }
  }
  return std::move(outcome).Finish(gpus);
}

absl::StatusOr<CheckOutput> CheckHostBandwidth(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  // GPUs may share a PCIe switch.
  GALEN_ASSIGN_OR_RETURN(const std::vector<GpuTestRun> runs,
                         Run(context, gpus, "host", "mib", true));
  Outcome outcome(context);
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TestGpu& gpu = *tested[i];
    const bool done = outcome.Ended(gpu, runs[i]);
    const std::optional<double> floor = gpu.Fact("h2d_floor_gb_s");
    for (const absl::string_view way : {"h2d_gb_s", "d2h_gb_s"}) {
      v1::Finding& finding = outcome.Float(way, gpu.device, NumberOf(runs[i], way));
      if (floor.has_value()) finding.set_expected(absl::StrCat(*floor));
    }
    outcome.Float("floor_gb_s", gpu.device, floor);
    outcome.Int("wrong_bytes", gpu.device, IntegerOf(runs[i], "wrong_bytes")).set_expected("0");
    if (done) {
      outcome.Say(gpu.device,
                  absl::StrCat(RateText(NumberOf(runs[i], "h2d_gb_s"), "GB/s to the GPU", floor),
                               ", ", RateText(NumberOf(runs[i], "d2h_gb_s"), "GB/s from it")));
      if (NumberOf(runs[i], "beside").value_or(0) == 0) {
        outcome.Say(gpu.device, "the kernel does not tell which processors are beside it");
      }
    }
  }
  return std::move(outcome).Finish(gpus);
}

}  // namespace galen::node
