#ifndef SERVICES_ADVISOR_LEARNING_PROPORTIONAL_HAZARDS_H_
#define SERVICES_ADVISOR_LEARNING_PROPORTIONAL_HAZARDS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/advisor/learning/life_counts.h"
#include "services/advisor/learning/run_record.h"

// Estimates the effects of signs on the hazard.
namespace galen::advisor {

// Proportional hazards: the hazard of a run of an age with signs x is base[age] * exp(sum of effect
// * x), times what its workload and its machines add.
struct HazardModel {
  struct Sign {
    double effect = 0;  // log of the ratio of hazards a level
    // Standard error; 0: not estimated, because the sign was never seen, or in no failure, or
    // cannot be distinguished from others. (For a sign that stood highest before every failure:
    // TopEffectOf().)
    double error = 0;
    double p = 1;      // of a sign that raises nothing (UpperTailOf(), TopTailOf())
    double hours = 0;  // at risk with the sign
    double failures = 0;
  };
  std::array<Sign, kMostSigns> signs;
  std::array<double, kAges> base{};                        // failures an hour
  std::vector<std::array<double, kMostSigns>> covariance;  // of effects
  // Factors; missing ones are 1.
  absl::flat_hash_map<std::uint32_t, double> workloads;
  absl::flat_hash_map<std::uint32_t, double> machines;
  double failures = 0;
  double hours = 0;

  // Failures an hour.
  double Rate(std::size_t age, const Signs& signs_now, std::uint32_t workload,
              std::uint32_t machines_now) const;
  // The probability of failure within the next `horizon` hours at this age, if the signs stay as
  // they are.
  double Probability(double hours, double horizon, const Signs& signs_now, std::uint32_t workload,
                     std::uint32_t machines_now) const;
  // The hazard relative to the same run without signs, with its 95 % interval.
  struct Ratio {
    double value = 1;
    double low = 1;
    double high = 1;
  };
  Ratio RatioOf(const Signs& signs_now) const;
};

// Cox's model (1972) on counts, stratified by place and with Breslow's baseline, by Newton's
// method; then the baseline and the factors of workloads and machines one after the other; these
// are shrunk towards 1 by the weight of `shrink` failures (gamma and Poisson). FAILED_PRECONDITION:
// fewer than `least_failures`, or no hours.
struct FitOptions {
  double least_failures = 10;
  double shrink = 5;
  // The effects that count: others are 0 in the given model. Empty: all.
  std::vector<bool> keep;
};
absl::StatusOr<HazardModel> FitHazard(absl::Span<const LifeCounts::Cell> cells,
                                      const FitOptions& options = {});

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_PROPORTIONAL_HAZARDS_H_
