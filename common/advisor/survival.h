#ifndef COMMON_ADVISOR_SURVIVAL_H_
#define COMMON_ADVISOR_SURVIVAL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/advisor/run_record.h"

// How long runs last, and which signs go before their failures.
namespace galen::advisor {

// Bounds of the intervals of a run's age, in hours: from a quarter of an hour in steps of a factor
// of sqrt(2) to some 120 days; the last one has no end. Within one the hazard is taken as constant.
inline constexpr std::size_t kAges = 28;
double AgeBegin(std::size_t age);
std::size_t AgeOf(double hours);

// Hours at risk and failures by place, age and signs: all that a model of proportional hazards with
// a hazard that is constant by age needs (Holford, "The Analysis of Rates and of Survivorship Using
// Log-Linear Models", 1980). So one pass and bounded memory are enough. A place is a workload on a
// kind of machines (context and size): both signs and failures are more frequent in some, so that
// failures are compared within machines, and beside what their workload does.
class LifeCounts {
 public:
  // Cells at most, of some 56 bytes. When they are used up, workloads are no longer told apart;
  // what still falls into no cell that is there is left out and counted.
  explicit LifeCounts(std::size_t most_cells = 1 << 18) : most_cells_(most_cells) {}

  // Episodes must not be longer than the run; hours that are no numbers, or negative, are left out.
  void Add(std::uint32_t workload, std::uint32_t machines, double begin, double end,
           const Signs& signs, bool failed);

  static constexpr std::uint32_t kAnyWorkload = 0xffffffff;
  struct Cell {
    std::uint32_t workload = 0;  // kAnyWorkload: they are not told apart
    std::uint32_t machines = 0;
    std::size_t age = 0;
    Signs signs{};
    double hours = 0;
    double failures = 0;
  };
  std::vector<Cell> Cells() const;  // in order of workload, machines, age
  std::size_t cells() const { return cells_.size(); }
  double hours_left_out() const { return hours_left_out_; }
  std::int64_t failures() const { return failures_; }
  bool knows_workloads() const { return knows_workloads_; }

 private:
  struct Counted {
    double hours = 0;
    double failures = 0;
  };
  struct Key {
    std::uint32_t workload = 0;
    std::uint32_t place = 0;  // machines and age
    std::uint32_t signs = 0;  // two bits each
    bool operator==(const Key&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.workload, key.place, key.signs);
    }
  };
  Counted* Find(Key key);
  void ForgetWorkloads();

  const std::size_t most_cells_;
  absl::flat_hash_map<Key, Counted> cells_;
  bool knows_workloads_ = true;
  double hours_left_out_ = 0;
  std::int64_t failures_ = 0;
};

// A life: how long, and whether a failure ended it.
struct Life {
  double hours = 0;
  bool failed = false;
};

struct CurvePoint {
  double hours = 0;
  double surviving = 1;  // share that lives longer than `hours`
  double low = 0;        // its 95 % interval (Greenwood, on the log-log scale)
  double high = 1;
};
// Kaplan and Meier's estimate (1958), a point at each time of a failure.
std::vector<CurvePoint> KaplanMeier(std::vector<Life> lives);
// The same of counts, by the actuarial method: a point at the end of each age. `signs`: at least
// one sign this strong; 0: all.
std::vector<CurvePoint> KaplanMeier(absl::Span<const LifeCounts::Cell> cells, int least_sign);

// Proportional hazards: the hazard of a run of an age with signs x is base[age] * exp(sum of effect
// * x), times what its workload and its machines add.
struct HazardModel {
  struct Sign {
    double effect = 0;  // log of the ratio of hazards a level
    double error =
        0;         // standard error; 0: not estimated, for the sign was seen in no failure or never
    double p = 1;  // that it raises the hazard: Wald's test, one-sided
    double hours = 0;  // at risk with the sign
    double failures = 0;
  };
  std::array<Sign, kMostSigns> signs;
  std::array<double, kAges> base{};                        // failures an hour
  std::vector<std::array<double, kMostSigns>> covariance;  // of effects
  // Factors; what is not here has 1.
  absl::flat_hash_map<std::uint32_t, double> workloads;
  absl::flat_hash_map<std::uint32_t, double> machines;
  double failures = 0;
  double hours = 0;

  // Failures an hour.
  double Rate(std::size_t age, const Signs& signs_now, std::uint32_t workload,
              std::uint32_t machines_now) const;
  // Of failing within the next `horizon` hours at this age, the signs staying as they are.
  double Probability(double hours, double horizon, const Signs& signs_now, std::uint32_t workload,
                     std::uint32_t machines_now) const;
  // How many times the hazard of the same run without signs, with its 95 % interval.
  struct Ratio {
    double value = 1;
    double low = 1;
    double high = 1;
  };
  Ratio RatioOf(const Signs& signs_now) const;
};

// Cox's model (1972) on counts, stratified by place and with Breslow's baseline, by Newton's
// method; then the baseline and the factors of workloads and machines one after the other; these
// are drawn towards 1 by as many failures as `shrink` (gamma and Poisson). FAILED_PRECONDITION:
// fewer than `least_failures`, or no estimate is found.
struct FitOptions {
  double least_failures = 10;
  double shrink = 5;
  // Of the effects that count: others are 0 in the model that is given. Empty: all.
  std::vector<bool> keep;
};
absl::StatusOr<HazardModel> FitHazard(absl::Span<const LifeCounts::Cell> cells,
                                      const FitOptions& options = {});

}  // namespace galen::advisor

#endif  // COMMON_ADVISOR_SURVIVAL_H_
