#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/median.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"

namespace galen::node {
namespace {

// Above `most` utilization, in percent, a GPU is not idle.
bool Idle(const Gpu& gpu, double most) {
  return gpu.utilization.has_value() && *gpu.utilization <= most && gpu.thermal.core.has_value();
}

// By how much an idle GPU is hotter than the idle ones of its model; unknown without such peers.
std::optional<double> HotterThanIdlePeers(const Gpu& gpu, const std::vector<Gpu>& gpus,
                                          double idle) {
  if (!Idle(gpu, idle)) return std::nullopt;
  std::vector<double> peers;
  for (const Gpu& other : gpus) {
    if (other.index != gpu.index && other.product == gpu.product && Idle(other, idle)) {
      peers.push_back(*other.thermal.core);
    }
  }
  if (peers.empty()) return std::nullopt;
  return *gpu.thermal.core - Median(std::move(peers));
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuThermal(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.thermal"));
  GALEN_ASSIGN_OR_RETURN(const double idle, data.Number("idle_utilization"));
  GALEN_ASSIGN_OR_RETURN(const double usual_limit, data.Number("core_limit_c"));
  GALEN_ASSIGN_OR_RETURN(GpuState state, QueryGpus(context.host));
  GpuFindings findings(context);
  const Gpu* coolest = nullptr;
  const Gpu* hottest = nullptr;
  std::size_t measured = 0;
  for (Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    const std::optional<double> limit = HardwareFact(context.knowledge, gpu.product, "slowdown_c");
    // The device knows its own limit best, then the data sheet of its model.
    if (!gpu.thermal.margin_to_slowdown.has_value() && limit.has_value() &&
        gpu.thermal.core.has_value()) {
      gpu.thermal.margin_to_slowdown = *limit - *gpu.thermal.core;
    }
    const auto add = [&](absl::string_view name, const std::optional<double>& value,
                         absl::string_view limit_name, const std::optional<double>& most) {
      v1::Finding& finding = findings.Float(name, subject, value);
      if (most.has_value()) finding.set_expected(absl::StrCat("below ", Short(*most)));
      if (most.has_value()) findings.Float(limit_name, subject, most);
    };
    std::optional<double> core_limit = gpu.thermal.slowdown;
    if (!core_limit.has_value()) core_limit = limit;
    // Newer devices tell only how much is left.
    if (!core_limit.has_value() && gpu.thermal.core.has_value() &&
        gpu.thermal.margin_to_slowdown.has_value()) {
      core_limit = *gpu.thermal.core + *gpu.thermal.margin_to_slowdown;
    }
    add("core_c", gpu.thermal.core, "core_limit_c", core_limit.value_or(usual_limit));
    add("memory_c", gpu.thermal.memory, "memory_limit_c",
        HardwareFact(context.knowledge, gpu.product, "memory_max_c"));
    findings.Float("margin_to_slowdown_c", subject, gpu.thermal.margin_to_slowdown);
    findings.Float("idle_hotter_than_peers_c", subject, HotterThanIdlePeers(gpu, state.gpus, idle));
    if (!gpu.thermal.core.has_value()) continue;
    ++measured;
    if (coolest == nullptr || *gpu.thermal.core < *coolest->thermal.core) coolest = &gpu;
    if (hottest == nullptr || *gpu.thermal.core > *hottest->thermal.core) hottest = &gpu;
  }
  if (hottest == nullptr) {
    return absl::FailedPreconditionError("no GPU of this node reports its temperature");
  }
  std::string message =
      measured == 1
          ? absl::StrCat("GPU ", hottest->index, " is at ", Short(*hottest->thermal.core), " C")
          : absl::StrCat(measured, " GPUs at ", Short(*coolest->thermal.core), " to ",
                         Short(*hottest->thermal.core), " C, the hottest is GPU ", hottest->index);
  if (hottest->thermal.margin_to_slowdown.has_value()) {
    absl::StrAppend(&message, ", ", Short(*hottest->thermal.margin_to_slowdown),
                    " C below its slowdown limit");
  }
  return std::move(findings).Finish(std::move(message), Excerpt(state, *hottest, "temperature"));
}

}  // namespace galen::node
