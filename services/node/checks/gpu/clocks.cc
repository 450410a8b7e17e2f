#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/clock_offsets.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"

namespace galen::node {
namespace {

// From `busy` utilization on, in percent, the clock ought to be near its maximum.
std::optional<double> RatioWhenBusy(const Gpu& gpu, double busy) {
  if (!gpu.utilization.has_value() || *gpu.utilization < busy || !gpu.clocks.sm.has_value() ||
      gpu.clocks.sm_max.value_or(0) <= 0) {
    return std::nullopt;
  }
  return *gpu.clocks.sm / *gpu.clocks.sm_max;
}

// Whether a user set the application clocks; unknown if the driver does not report them.
std::optional<bool> UserSetting(const Gpu& gpu) {
  std::optional<bool> changed;
  for (const auto& [value, standard] :
       {std::pair(gpu.clocks.application_graphics, gpu.clocks.default_graphics),
        std::pair(gpu.clocks.application_memory, gpu.clocks.default_memory)}) {
    if (!value.has_value() || !standard.has_value()) continue;
    changed = changed.value_or(false) || *value != *standard;
  }
  if (gpu.throttle.application_clocks.value_or(false)) return true;
  return changed;
}

// Whether no reason for lower clocks is active; unknown if a usual reason is not reported.
std::optional<bool> WithoutReason(const GpuThrottle& throttle) {
  for (const auto& active : {throttle.hw_thermal, throttle.sw_thermal, throttle.hw_power_brake,
                             throttle.hw_slowdown, throttle.sw_power_cap}) {
    if (active.value_or(false)) return false;
  }
  const bool told = throttle.hw_thermal.has_value() && throttle.hw_power_brake.has_value() &&
                    throttle.sw_power_cap.has_value();
  return told ? std::optional<bool>(true) : std::nullopt;
}

std::string ThrottleText(const GpuThrottle& throttle) {
  std::vector<absl::string_view> reasons;
  const auto tell = [&](const std::optional<bool>& active, absl::string_view reason) {
    if (active.value_or(false)) reasons.push_back(reason);
  };
  tell(throttle.hw_thermal, "hardware thermal slowdown");
  tell(throttle.sw_thermal, "software thermal slowdown");
  tell(throttle.hw_power_brake, "hardware power brake");
  tell(throttle.hw_slowdown, "hardware slowdown");
  tell(throttle.sw_power_cap, "software power cap");
  return absl::StrJoin(reasons, ", ");
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuClocks(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.clocks"));
  GALEN_ASSIGN_OR_RETURN(const double busy, data.Number("busy_utilization"));
  GALEN_ASSIGN_OR_RETURN(const double low, data.Number("low_ratio"));
  GALEN_ASSIGN_OR_RETURN(GpuState state, QueryGpus(context.host));
  const ClockOffsets offsets = ReadClockOffsets(context.host, data);
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    // The model's data sheet, if the device does not report its limit.
    if (!gpu.clocks.sm_max.has_value()) {
      gpu.clocks.sm_max = HardwareFact(context.knowledge, gpu.product, "sm_max_mhz");
    }
    const std::optional<double> ratio = RatioWhenBusy(gpu, busy);
    std::optional<bool> changed = UserSetting(gpu);
    const bool by_applications = changed.value_or(false);
    std::optional<std::int64_t> offset;
    if (const auto set = offsets.find(gpu.index); set != offsets.end()) {
      offset = set->second;
      changed = by_applications || *offset != 0;
    }
    findings.Float("sm_mhz", subject, gpu.clocks.sm);
    findings.Float("sm_max_mhz", subject, gpu.clocks.sm_max);
    findings.Float("ratio_busy", subject, ratio);
    std::optional<bool> unexplained;
    if (ratio.has_value()) {
      unexplained = *ratio >= low || changed.value_or(false) ? std::optional<bool>(false)
                                                             : WithoutReason(gpu.throttle);
    }
    findings.Bool("low_without_reason", subject, unexplained).set_expected("false");
    findings.Bool("user_setting_changed", subject, changed).set_expected("false");
    if (offset.has_value()) findings.Int("clock_offset_mhz", subject, offset);
    findings.Float("utilization", subject, gpu.utilization);
    std::vector<std::string> told;
    if (offset.value_or(0) != 0) {
      told.push_back(absl::StrCat("a clock offset of ", *offset, " MHz is set"));
    }
    if (ratio.has_value()) {
      told.push_back(absl::StrCat(Short(*gpu.clocks.sm), " of ", Short(*gpu.clocks.sm_max),
                                  " MHz at ", Short(*gpu.utilization), " % utilization"));
    }
    if (by_applications) told.push_back("application clocks differ from the default");
    if (!told.empty()) sentence.Special(gpu, absl::StrJoin(told, ", "));
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports its clocks");
  }
  return std::move(findings).Finish(sentence, "not busy, at its own clocks",
                                    ExcerptOfFirst(state, "clocks", [&](const Gpu& gpu) {
                                      return RatioWhenBusy(gpu, busy).has_value();
                                    }));
}

absl::StatusOr<CheckOutput> CheckGpuThrottle(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    findings.Bool("hw_thermal", subject, gpu.throttle.hw_thermal).set_expected("false");
    findings.Bool("sw_thermal", subject, gpu.throttle.sw_thermal).set_expected("false");
    findings.Bool("hw_power_brake", subject, gpu.throttle.hw_power_brake).set_expected("false");
    findings.Bool("hw_slowdown", subject, gpu.throttle.hw_slowdown).set_expected("false");
    findings.Bool("sw_power_cap", subject, gpu.throttle.sw_power_cap);
    if (const std::string text = ThrottleText(gpu.throttle); !text.empty()) {
      sentence.Special(gpu, absl::StrCat(text, " active"));
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports why its clocks are low");
  }
  const bool renamed = !Excerpt(state, state.gpus.front(), "clocks_event_reasons").empty();
  return std::move(findings).Finish(
      sentence, "no throttle reason active",
      ExcerptOfFirst(state, renamed ? "clocks_event_reasons" : "clocks_throttle_reasons",
                     [](const Gpu& gpu) { return !ThrottleText(gpu.throttle).empty(); }));
}

}  // namespace galen::node
