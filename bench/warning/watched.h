#ifndef BENCH_WARNING_WATCHED_H_
#define BENCH_WARNING_WATCHED_H_

#include <array>
#include <cstddef>
#include <vector>

#include "common/timeseries/grid.h"
#include "tests/testing/detection/made_up_fleet.h"

namespace galen::bench {

// A minute of a fleet as every detector gets it: counters as growth a minute, computed as
// telemetry::Measure() does of scrapes a minute apart, each machine's at a second of its own. (It
// is growth of a minute before: as in galen-watch, a scrape has to come after it.)
class Watched {
 public:
  explicit Watched(const testing::MadeUpFleet& fleet) : fleet_(fleet) {}
  void Take();

  const testing::MadeUpFleet& fleet() const { return fleet_; }
  std::vector<float> ecc, nvlink, pcie, retransmissions, ones;
  std::vector<float> io_pressure;  // share of the time
  // Whether work was announced for the node, or for a node of its job.
  std::vector<bool> planned;

 private:
  // The last scrapes of a counter.
  struct Scrapes {
    std::array<timeseries::Sample, 5> samples;
    std::size_t size = 0;
  };
  void Grow(const std::vector<double>& values, double scale, std::vector<Scrapes>& counters,
            std::vector<float>& growth) const;

  const testing::MadeUpFleet& fleet_;
  std::vector<Scrapes> ecc_, nvlink_, pcie_, retransmissions_, io_;
  std::vector<double> waited_;  // seconds
};

}  // namespace galen::bench

#endif  // BENCH_WARNING_WATCHED_H_
