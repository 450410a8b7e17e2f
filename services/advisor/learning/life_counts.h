#ifndef SERVICES_ADVISOR_LEARNING_LIFE_COUNTS_H_
#define SERVICES_ADVISOR_LEARNING_LIFE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/advisor/learning/run_record.h"

// Counts how long runs last, and which signs precede their failures.
namespace galen::advisor {

// Bounds of the intervals of a run's age, in hours: from a quarter of an hour in steps of a factor
// of sqrt(2) to some 120 days; the last one has no end. The hazard is assumed constant within an
// interval.
inline constexpr std::size_t kAges = 28;
double AgeBegin(std::size_t age);
std::size_t AgeOf(double hours);

// Hours at risk and failures by place, age and signs. A model of proportional hazards with a
// piecewise constant hazard needs no more (Holford, "The Analysis of Rates and of Survivorship
// Using Log-Linear Models", 1980), so one pass and bounded memory are enough. A place is a workload
// on a kind of machines (context and size). Both signs and failures are more frequent in some
// places, so failures are compared within machines, and with the effect of their workload removed.
class LifeCounts {
 public:
  // Maximum of cells, of some 64 bytes each. When they are used up, workloads are no longer counted
  // separately; runs without an existing cell are left out and counted.
  explicit LifeCounts(std::size_t most_cells = 1 << 18) : most_cells_(most_cells) {}

  // Episodes must not be longer than the run; hours that are not numbers, or negative, are left
  // out. `planned`: until when a failed run would have gone on; 0: unknown.
  void Add(std::uint32_t workload, std::uint32_t machines, double begin, double end,
           const Signs& signs, bool failed, double planned = 0);

  static constexpr std::uint32_t kAnyWorkload = 0xffffffff;
  struct Cell {
    std::uint32_t workload = 0;  // kAnyWorkload: workloads are not counted separately
    std::uint32_t machines = 0;
    std::size_t age = 0;
    Signs signs{};
    double hours = 0;
    double failures = 0;
    // Hours if no run had failed: for failed runs, to the end of their age or of their plan.
    double exposure = 0;
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
    double exposure = 0;
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

}  // namespace galen::advisor

#endif  // SERVICES_ADVISOR_LEARNING_LIFE_COUNTS_H_
