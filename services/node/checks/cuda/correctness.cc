#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/cuda/checks.h"
#include "services/node/checks/cuda/gpus.h"
#include "services/node/checks/cuda/outcome.h"

namespace galen::node {
namespace {

constexpr double kGiB = 1073741824.0;
// SMs named in a finding.
constexpr std::size_t kMaxSmsNamed = 32;

std::optional<std::int64_t> IntegerOf(const GpuTestLine* line, absl::string_view name) {
  return line == nullptr ? std::nullopt : line->Integer(name);
}

void TellMemory(Outcome& outcome, const TestGpu& gpu, const GpuTestRun& run) {
  const bool done = outcome.Ended(gpu, run);
  const GpuTestLine* const result = done ? run.Find("result") : nullptr;
  const GpuTestLine* const first = run.Find("mismatch");
  std::optional<std::int64_t> mismatches = IntegerOf(result, "mismatches");
  // Those that were seen before it ended are true whatever ended it.
  std::int64_t seen = 0;
  for (const GpuTestLine& line : run.lines) {
    if (line.kind != "mismatch") continue;
    ++seen;
    outcome.Show(absl::StrCat(gpu.device, " at ", line.Text("address"), " (byte ",
                              line.Text("offset"), " of what was tested): ", line.Text("actual"),
                              " instead of ", line.Text("expected"), ", pattern ",
                              line.Text("pattern")));
  }
  if (!mismatches.has_value() && seen > 0) mismatches = seen;
  outcome.Int("mismatches", gpu.device, mismatches).set_expected("0");
  std::optional<double> tested;
  if (result != nullptr && result->Number("tested").has_value()) {
    tested = *result->Number("tested") / kGiB;
  }
  outcome.Float("tested_gib", gpu.device, tested);
  outcome.Int("patterns", gpu.device, IntegerOf(result, "patterns"));
  if (first != nullptr) {
    outcome.Text("first_address", gpu.device, first->Text("address"));
    outcome.Text("wrong_bits", gpu.device,
                 result == nullptr ? std::optional<std::string>() : result->Text("bits"));
  }
  if (mismatches.value_or(0) > 0) {
    outcome.Say(gpu.device,
                absl::StrCat(*mismatches, " words were not what was written, the first at ",
                             first == nullptr ? "an unknown address" : first->Text("address")));
  } else if (mismatches.has_value()) {
    outcome.Say(gpu.device,
                absl::StrCat(Rounded(tested.value_or(0)), " GiB hold ",
                             IntegerOf(result, "patterns").value_or(0), " patterns, nothing lost"));
  }
}

void TellCompute(Outcome& outcome, const TestGpu& gpu, const GpuTestRun& run) {
  const bool done = outcome.Ended(gpu, run);
  const GpuTestLine* const result = done ? run.Find("result") : nullptr;
  const std::optional<std::int64_t> mismatches = IntegerOf(result, "mismatches");
  const std::optional<std::int64_t> not_finite = IntegerOf(result, "not_finite");
  std::vector<std::string> sms;
  for (const GpuTestLine& line : run.lines) {
    if (line.kind != "sm") continue;
    outcome.Show(absl::StrCat(gpu.device, " SM ", line.Text("sm"), ": ", line.Text("mismatches"),
                              " wrong blocks, ", line.Text("not_finite"), " values not finite"));
    if (sms.size() < kMaxSmsNamed) sms.push_back(line.Text("sm"));
  }
  outcome.Int("bit_mismatches", gpu.device, mismatches).set_expected("0");
  outcome.Int("nan_results", gpu.device, not_finite).set_expected("0");
  outcome.Int("sms_tested", gpu.device, IntegerOf(result, "sms_tested"));
  outcome.Int("sms", gpu.device, IntegerOf(result, "sms"));
  std::optional<bool> tensor;
  if (result != nullptr) tensor = result->Text("tensor") == "1";
  outcome.Bool("tensor_cores_tested", gpu.device, tensor);
  if (!sms.empty()) outcome.Text("wrong_sms", gpu.device, absl::StrJoin(sms, ","));
  if (result == nullptr) return;
  if (mismatches.value_or(0) > 0 || not_finite.value_or(0) > 0) {
    outcome.Say(gpu.device,
                absl::StrCat(mismatches.value_or(0), " of ", result->Text("blocks"),
                             " results are wrong, ", not_finite.value_or(0),
                             " values are not finite, on SM ", absl::StrJoin(sms, ", ")));
  } else {
    outcome.Say(gpu.device,
                absl::StrCat("bit for bit the known results on ", result->Text("sms_tested"),
                             " of ", result->Text("sms"), " SMs",
                             tensor.value_or(false) ? "" : ", tensor cores not tested"));
  }
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuMemory(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<GpuTestRun> runs, RunOnEach(context, gpus, [&](const TestGpu& gpu) {
        std::vector<std::string> arguments = CommonArguments(context, "memory");
        arguments.push_back(absl::StrCat("gpu=", gpu.address));
        arguments.push_back(absl::StrCat("seconds=", context.parameters.Number("seconds")));
        arguments.push_back(absl::StrCat("share=", context.parameters.Number("share")));
        const std::string& patterns = context.parameters.Text("patterns");
        arguments.push_back(absl::StrCat(
            "families=", patterns == "all" ? "solid,checker,address,random" : patterns));
        return arguments;
      }));
  Outcome outcome(context);
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) TellMemory(outcome, *tested[i], runs[i]);
  return std::move(outcome).Finish(gpus);
}

absl::StatusOr<CheckOutput> CheckGpuCompute(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const TestGpus gpus, SelectTestGpus(context));
  GALEN_ASSIGN_OR_RETURN(
      const std::vector<GpuTestRun> runs, RunOnEach(context, gpus, [&](const TestGpu& gpu) {
        std::vector<std::string> arguments = CommonArguments(context, "compute");
        arguments.push_back(absl::StrCat("gpu=", gpu.address));
        arguments.push_back(absl::StrCat("seconds=", context.parameters.Number("seconds")));
        return arguments;
      }));
  Outcome outcome(context);
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) TellCompute(outcome, *tested[i], runs[i]);
  return std::move(outcome).Finish(gpus);
}

}  // namespace galen::node
