#include "services/advisor/learning/online.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::advisor {

Hazard HazardOf(const Learned& learned, const RunningJob& job, double horizon_hours) {
  Hazard hazard;
  hazard.horizon = horizon_hours;
  if (!learned.hazard.has_value()) {
    hazard.why = learned.no_hazard.empty() ? "nothing was learned yet" : learned.no_hazard;
    return hazard;
  }
  const HazardModel& model = *learned.hazard;
  const auto it = learned.workloads.find(absl::StrCat(job.archetype, " ", job.stack));
  const std::uint32_t workload = it == learned.workloads.end() ? ~std::uint32_t{0} : it->second;
  const auto context = learned.contexts.find(job.context);
  const std::uint32_t machines =
      context == learned.contexts.end() ? ~std::uint32_t{0} : MachinesOf(context->second, job.gpus);
  hazard.known = true;
  hazard.probability = model.Probability(job.hours, horizon_hours, job.signs, workload, machines);
  hazard.ratio = model.RatioOf(job.signs);
  for (std::size_t i = 0; i < kMostSigns; ++i) {
    const double effect = model.signs[i].effect * job.signs[i];
    if (effect > 0) hazard.because.push_back({i, std::exp(effect)});
  }
  std::stable_sort(hazard.because.begin(), hazard.because.end(),
                   [](const auto& a, const auto& b) { return a.ratio > b.ratio; });
  return hazard;
}

Step OnHazard(const Hazard& hazard, const BuildUpSigns& signs, absl::Time now,
              const AlarmOptions& options, Confirmation& confirmation) {
  using Stage = Confirmation::Stage;
  if (!hazard.known || hazard.because.empty() || hazard.probability < options.least_probability ||
      hazard.ratio.low < options.least_ratio) {
    // A refuted or alarmed sign stays so until there is new evidence.
    return {};
  }
  if (confirmation.stage == Stage::kConfirmed) return {};
  if (confirmation.stage == Stage::kTesting && now < confirmation.since + options.lost) return {};
  if (confirmation.stage == Stage::kUntested && now < confirmation.since + options.retry) return {};
  if (confirmation.stage == Stage::kRefuted && now < confirmation.since + options.quiet &&
      hazard.probability < 2 * confirmation.probability) {
    return {};
  }
  const BuildUpSign* sign = signs.Find(hazard.because.front().sign);
  if (sign == nullptr) return {};
  confirmation = {Stage::kTesting, sign->check, now, hazard.probability};
  return {Step::Do::kRunCheck, sign->check,
          absl::StrFormat(
              "%s: fails within %.3g hours with %.1f %%, %.2g times as likely as without it",
              sign->title, hazard.horizon, 100 * hazard.probability, hazard.ratio.value)};
}

Step OnTest(absl::string_view check, TestResult result, absl::Time now,
            Confirmation& confirmation) {
  using Stage = Confirmation::Stage;
  // Only the requested test counts.
  if (confirmation.stage != Stage::kTesting || confirmation.check != check) return {};
  confirmation.since = now;
  switch (result) {
    case TestResult::kFailed:
      confirmation.stage = Stage::kConfirmed;
      return {Step::Do::kAlarm, "",
              absl::StrCat(check, " failed: what the sign is about does not work as it should")};
    case TestResult::kPassed:
      confirmation.stage = Stage::kRefuted;
      return {};
    case TestResult::kNotRun:
      confirmation.stage = Stage::kUntested;
      return {};
  }
  return {};
}

}  // namespace galen::advisor
