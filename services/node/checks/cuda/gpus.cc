#include "services/node/checks/cuda/gpus.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/gpu/gpu_use.h"

namespace galen::node {
namespace {

using End = GpuTestRun::End;

constexpr std::size_t kMaxGpus = 64;
// 7.0: the kernels are built for Volta.
constexpr std::int64_t kLeastCapability = 70;
// Reserved from the check's own time for killing the run and reporting it.
constexpr absl::Duration kToTell = absl::Seconds(2);
// The limit of a run when the check has no deadline.
constexpr absl::Duration kLongestRun = absl::Hours(2);

// Numbers `gpus` as nvidia-smi does and refuses those in use.
absl::Status Refuse(const CheckContext& context, TestGpus& gpus) {
  const absl::StatusOr<GpuState> state = QueryNvidia(context.host);
  if (!state.ok() && !context.allow_busy) return UsersUnknown(state.status());
  for (TestGpu& gpu : gpus.all) {
    const Gpu* known = nullptr;
    for (std::size_t i = 0; state.ok() && i < state->gpus.size(); ++i) {
      if (state->gpus[i].pci_address == gpu.address) known = &state->gpus[i];
    }
    if (known != nullptr) {
      gpu.device = DeviceName(*known);
      if (known->mig.current == "Enabled") gpu.refused = "divided into MIG instances";
    }
    if (context.allow_busy || !gpu.refused.empty()) continue;
    const std::optional<std::string> user =
        known == nullptr ? std::nullopt
                         : UserOf(*known, context.parameters.Number("idle_memory_mib"));
    gpu.refused = user.value_or(std::string(kUserUnknown));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<double> TestGpu::Fact(absl::string_view name_of_fact) const {
  if (hardware == nullptr) return std::nullopt;
  const auto found = hardware->facts().find(std::string(name_of_fact));
  if (found == hardware->facts().end()) return std::nullopt;
  return found->second;
}

std::vector<const TestGpu*> TestGpus::tested() const {
  std::vector<const TestGpu*> list;
  for (const TestGpu& gpu : all) {
    if (gpu.refused.empty()) list.push_back(&gpu);
  }
  return list;
}

std::string TestGpus::Refusals() const {
  std::vector<std::string> told;
  for (const TestGpu& gpu : all) {
    if (!gpu.refused.empty()) told.push_back(absl::StrCat(gpu.device, ": ", gpu.refused));
  }
  return absl::StrJoin(told, "; ");
}

absl::Time RunDeadline(const CheckContext& context) {
  return std::min(context.deadline - kToTell, SteadyNow() + kLongestRun);
}

std::vector<std::string> CommonArguments(const CheckContext& context, absl::string_view test) {
  const double patience = context.parameters.Number("patience");
  const absl::Duration left = RunDeadline(context) - SteadyNow() + 2 * kToTell;
  return {std::string(test), absl::StrCat("patience=", patience > 0 ? patience : 1),
          absl::StrCat("limit=", std::max<std::int64_t>(1, absl::ToInt64Seconds(left)))};
}

absl::StatusOr<GpuListing> ListTestGpus(const CheckContext& context) {
  if (!context.host.live()) {
    return absl::FailedPreconditionError(
        "an active test of GPUs needs the machine itself, and this is what was captured of one");
  }
  GpuListing listing;
  GALEN_ASSIGN_OR_RETURN(listing.gpus.program, FindGpuTestProgram());
  GALEN_ASSIGN_OR_RETURN(listing.run,
                         RunGpuTest(listing.gpus.program, CommonArguments(context, "list"),
                                    RunDeadline(context), context.cancelled, nullptr));
  if (listing.run.end == End::kCancelled) return absl::CancelledError("cancelled");
  if (listing.run.end == End::kLate) {
    return absl::DeadlineExceededError(
        absl::StrCat("not done in time; it was at ", listing.run.text));
  }
  if (listing.run.end == End::kRefused) {
    return absl::NotFoundError(absl::StrCat("no CUDA driver: ", listing.run.text));
  }
  for (const GpuTestLine& line : listing.run.lines) {
    if (line.kind == "driver") {
      listing.gpus.library = line.Text("library");
      listing.gpus.driver_version = static_cast<int>(line.Integer("version").value_or(0));
    } else if (line.kind == "gpu" && listing.gpus.all.size() < kMaxGpus) {
      TestGpu gpu;
      gpu.address = CanonicalPciAddress(line.Text("address"));
      gpu.name = line.Text("name");
      gpu.device = absl::StrCat("gpu:", line.Integer("index").value_or(0));
      gpu.hardware = context.knowledge.FindHardware(gpu.name);
      if (line.Integer("capability").value_or(kLeastCapability) < kLeastCapability) {
        gpu.refused = "older than Volta";
      }
      listing.gpus.all.push_back(std::move(gpu));
    }
  }
  return listing;
}

absl::StatusOr<TestGpus> SelectTestGpus(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(GpuListing listing, ListTestGpus(context));
  if (listing.run.end == End::kFailed) {
    return absl::FailedPreconditionError(absl::StrCat(listing.run.call, " gives ", listing.run.text,
                                                      " (", listing.run.code,
                                                      "); gpu.cuda_init tells more"));
  }
  if (listing.run.end == End::kHung) {
    return absl::FailedPreconditionError(
        absl::StrCat(listing.run.text, " does not come back; gpu.cuda_init tells more"));
  }
  if (listing.run.end != End::kDone) return absl::InternalError(listing.run.text);
  TestGpus& gpus = listing.gpus;
  if (gpus.all.empty()) return absl::FailedPreconditionError("the CUDA driver has no GPU");
  GALEN_RETURN_IF_ERROR(Refuse(context, gpus));
  const std::int64_t only = context.parameters.Integer("gpu");
  if (!context.parameters.Text("gpu").empty() && only >= 0) {
    const std::string wanted = absl::StrCat("gpu:", only);
    gpus.all.erase(std::remove_if(gpus.all.begin(), gpus.all.end(),
                                  [&](const TestGpu& gpu) { return gpu.device != wanted; }),
                   gpus.all.end());
    if (gpus.all.empty()) {
      return absl::FailedPreconditionError(absl::StrCat("the CUDA driver has no ", wanted));
    }
  }
  if (gpus.tested().empty()) return absl::FailedPreconditionError(gpus.Refusals());
  return std::move(gpus);
}

absl::StatusOr<std::vector<GpuTestRun>> RunOnEach(
    const CheckContext& context, const TestGpus& gpus,
    const std::function<std::vector<std::string>(const TestGpu& gpu)>& arguments, bool one_by_one) {
  const std::vector<const TestGpu*> tested = gpus.tested();
  std::vector<absl::StatusOr<GpuTestRun>> runs(tested.size(), absl::UnknownError("not run"));
  Mutex mu;
  std::vector<double> done(tested.size(), 0);
  const auto run = [&](std::size_t i) {
    const auto tell = [&, i](double share, absl::string_view what) {
      if (!context.progress) return;
      const MutexLock lock(mu);
      done[i] = share;
      context.progress(
          std::accumulate(done.begin(), done.end(), 0.0) / static_cast<double>(done.size()),
          absl::StrCat(tested[i]->device, ": ", what));
    };
    runs[i] = RunGpuTest(gpus.program, arguments(*tested[i]), RunDeadline(context),
                         context.cancelled, tell);
    tell(1, "done");
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    if (one_by_one) {
      run(i);
      continue;
    }
    try {
      threads.emplace_back(run, i);
    } catch (const std::system_error&) {
      run(i);
    }
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<GpuTestRun> results;
  for (absl::StatusOr<GpuTestRun>& result : runs) {
    if (!result.ok()) return result.status();
    if (result->end == End::kCancelled) return absl::CancelledError("cancelled");
    results.push_back(*std::move(result));
  }
  return results;
}

}  // namespace galen::node
