#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "services/node/checks/cuda/checks.h"
#include "services/node/checks/cuda/gpus.h"
#include "services/node/checks/cuda/outcome.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {
namespace {

using End = GpuTestRun::End;

// The numbers that nvidia-smi gives the GPUs, where it works.
void Number(const CheckContext& context, TestGpus& gpus) {
  const absl::StatusOr<GpuState> state = QueryNvidia(context.host);
  if (!state.ok()) return;
  for (TestGpu& gpu : gpus.all) {
    for (const Gpu& known : state->gpus) {
      if (known.pci_address == gpu.address) gpu.device = DeviceName(known);
    }
  }
}

void TellContext(Outcome& outcome, const TestGpu& gpu, const GpuTestRun& run) {
  std::optional<std::int64_t> code;
  std::optional<bool> hung = false;
  if (run.end == End::kDone) {
    const GpuTestLine* const result = run.Find("result");
    const bool right = result != nullptr && result->Text("right") == "1";
    code = 0;
    outcome.Bool("kernel_wrong", gpu.device, !right);
    outcome.Say(gpu.device, right ? "a context and a kernel work" : "the kernel's answer is wrong");
  } else if (run.end == End::kFailed) {
    if (TellsOfGpu(run.code)) code = run.code;
    outcome.Say(gpu.device, absl::StrCat(run.call, " gives ", run.text, " (", run.code, ")"));
  } else {
    hung = run.end == End::kHung ? std::optional<bool>(true) : std::nullopt;
    outcome.Say(gpu.device, run.end == End::kHung ? absl::StrCat("hung in ", run.text) : run.text);
  }
  outcome.Int("context_code", gpu.device, code).set_expected("0");
  outcome.Bool("hung", gpu.device, hung);
}

}  // namespace

absl::StatusOr<CheckOutput> CheckCudaInit(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(GpuListing listing, ListTestGpus(context));
  Outcome outcome(context);
  TestGpus& gpus = listing.gpus;
  const bool hung = listing.run.end == End::kHung;
  std::optional<std::int64_t> code;
  if (listing.run.end == End::kDone) code = 0;
  if (listing.run.end == End::kFailed) code = listing.run.code;
  outcome.Int("cuinit_code", "", code).set_expected("0");
  if (listing.run.end == End::kFailed) {
    outcome.Say("node", absl::StrCat(listing.run.call, " gives ", listing.run.text, " (",
                                     listing.run.code, ")"));
  } else if (listing.run.end != End::kDone) {
    outcome.Say("node", hung ? absl::StrCat("hung in ", listing.run.text) : listing.run.text);
  }
  if (listing.run.end != End::kDone) {
    if (hung) outcome.Bool("hung", "", true);
    return std::move(outcome).Finish(gpus);
  }
  outcome.Text("library_path", "", gpus.library);
  Number(context, gpus);
  GALEN_ASSIGN_OR_RETURN(const std::vector<GpuTestRun> runs,
                         RunOnEach(context, gpus, [&](const TestGpu& gpu) {
                           std::vector<std::string> arguments = CommonArguments(context, "init");
                           arguments.push_back(absl::StrCat("gpu=", gpu.address));
                           return arguments;
                         }));
  const std::vector<const TestGpu*> tested = gpus.tested();
  for (std::size_t i = 0; i < runs.size(); ++i) TellContext(outcome, *tested[i], runs[i]);
  outcome.Show(absl::StrCat("driver library ", gpus.library, ", CUDA ", gpus.driver_version / 1000,
                            ".", gpus.driver_version % 1000 / 10));
  return std::move(outcome).Finish(gpus);
}

}  // namespace galen::node
