#ifndef BENCH_WARNING_WATCHED_H_
#define BENCH_WARNING_WATCHED_H_

#include <cstdint>
#include <vector>

#include "common/warning/counter.h"
#include "tests/testing/warning/made_up_fleet.h"

namespace galen::bench {

// A minute of a fleet as every detector gets it: counters as growth a minute.
class Watched {
 public:
  explicit Watched(const testing::MadeUpFleet& fleet) : fleet_(fleet) {}
  void Take();

  const testing::MadeUpFleet& fleet() const { return fleet_; }
  std::vector<float> ecc, nvlink, pcie, retransmissions, ones;
  // Whether work was announced for the node, or for a node of its job.
  std::vector<bool> planned;

 private:
  static void Grow(const std::vector<double>& values, std::int64_t minute,
                   std::vector<warning::Counter>& counters, std::vector<float>& growth);

  const testing::MadeUpFleet& fleet_;
  std::vector<warning::Counter> ecc_, nvlink_, pcie_, retransmissions_;
};

}  // namespace galen::bench

#endif  // BENCH_WARNING_WATCHED_H_
