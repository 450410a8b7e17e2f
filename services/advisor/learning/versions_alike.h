#ifndef SERVICES_ADVISOR_LEARNING_VERSIONS_ALIKE_H_
#define SERVICES_ADVISOR_LEARNING_VERSIONS_ALIKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "services/advisor/learning/run_record.h"

namespace galen::advisor {

// Means of the behaviour of a version of an archetype, one run at a time (Welford, 1962).
class Behaviour {
 public:
  void Add(const std::array<double, kBehaviours>& seen);
  std::int64_t runs() const { return runs_; }
  double mean(std::size_t i) const { return mean_[i]; }
  // Standard error of the mean. 0 for fewer than two runs.
  double error(std::size_t i) const;

 private:
  std::int64_t runs_ = 0;
  std::array<double, kBehaviours> mean_{};
  std::array<double, kBehaviours> squares_{};
};

// Versions that behave alike (sub-archetypes): the number of a group for each, from 0 in the order
// of first members. Two groups are merged if no two members differ by more than `tolerance` in the
// logarithm of any value (0.1 is some 10 %), within two standard errors. Nearest first (complete
// linkage). A version of fewer than `least_runs`, or with two standard errors of more than 0.5, is
// a group of its own, because nothing is known about it. The failures of versions are not used, so
// that a test of failures by group does not test the data that formed the groups. At most 256
// versions are compared; the rest are groups of their own.
std::vector<std::uint32_t> GroupAlike(absl::Span<const Behaviour> versions, double tolerance = 0.1,
                                      std::int64_t least_runs = 10);

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_VERSIONS_ALIKE_H_
