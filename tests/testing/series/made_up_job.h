#ifndef TESTS_TESTING_SERIES_MADE_UP_JOB_H_
#define TESTS_TESTING_SERIES_MADE_UP_JOB_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/series/grid.h"

namespace galen::testing {

struct JobShape {
  std::size_t machines = 1000;
  std::size_t metrics = 20;  // at most 20
  std::size_t seconds = 900;
};

// A job's metrics at one sample a second, and what is true of it.
struct MadeUpJob {
  std::vector<series::Panel> metrics;
  std::optional<std::size_t> faulty;
  std::size_t onset = 0;              // sample
  std::string kind;                   // "" without a fault
  std::optional<std::size_t> frozen;  // a machine whose collector hangs

  std::vector<const series::Panel*> views() const;
};

// Four of five jobs have a fault of one machine: of ten kinds, each of which moves groups of
// metrics with probabilities of its own, by 1.2 to 15 deviations of a sample's noise (evenly on a
// logarithmic scale), at once or over up to a minute, for three minutes or until the end. Then the
// job as a whole may slow down. All have
// - pipeline stages with levels of their own, the iterations' period, noise that remembers and
// wanders, wild samples;
// - phases: checkpoints, a change of level, by amounts that differ from stage to stage, machines up
// to 3 s apart;
// - machines that always differ a little, and racks that always differ a lot;
// - blips of single machines of up to 40 s and 30 deviations; samples that are missing; and some a
// rack that
//   grows warmer, or a collector that hangs and repeats itself.
// The numbers are ours, not measured: what a detector reaches on them says how it takes these, no
// more. Equal seeds give equal jobs.
MadeUpJob MakeUpJob(const JobShape& shape, std::uint64_t seed);

}  // namespace galen::testing

#endif  // TESTS_TESTING_SERIES_MADE_UP_JOB_H_
