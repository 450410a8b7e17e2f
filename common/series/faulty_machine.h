#ifndef COMMON_SERIES_FAULTY_MACHINE_H_
#define COMMON_SERIES_FAULTY_MACHINE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/series/grid.h"

namespace galen::series {

// The defaults were chosen on seeds 1 to 60 of tests/testing/series (synthetic jobs), and measured
// on others: bench/series. They are in samples and windows, so they work with any step.
struct FaultyOptions {
  std::size_t window = 16;  // samples per window mean; a multiple of 4 is fast
  std::size_t before = 8;   // windows of a machine's own past that it is compared with
  // A change is sought over stretches of this many windows, and twice and four times that: a
  // shorter one is a blip. (Minder asks for four minutes of continuity: Deng et al., NSDI 2025.)
  std::size_t after = 8;
  double least_score = 3;  // noises; a smaller change counts for nothing
  double most_score = 12;  // and a larger one for no more
  // The required sum over the metrics of the squares of values between the two.
  double least_evidence = 30;
  // Machines that changed by this share of the furthest one's change, in its leading metric and at
  // the same time, resemble it. With more of them than this number it is a group behaviour, and no
  // machine is faulty.
  double alike = 0.5;
  std::size_t most_alike = 1;
  // A window in which this share of the otherwise moving metrics froze was not measured.
  double least_frozen = 0.8;
  std::size_t least_machines = 4;
};

struct MetricChange {
  std::size_t metric = 0;
  float noises = 0;  // how far, relative to noise over the same time; below 0: down
};

struct Suspect {
  std::size_t machine = 0;
  std::size_t begin = 0;  // sample at which the stretch begins, to a window
  std::size_t end = 0;
  float evidence = 0;
  std::vector<MetricChange> metrics;  // the furthest first
};

struct FaultReport {
  // The one machine that diverged from all others. Nothing if there is none, or more than one.
  std::optional<Suspect> suspect;
  // Machines without values from some time on to the end, while the others continue; and machines
  // whose values stand still while those of the others move. Neither is healthy, and neither is a
  // change.
  std::vector<std::size_t> silent;
  std::vector<std::size_t> frozen;
  bool group = false;       // the largest change is that of several machines
  bool too_little = false;  // too few machines or samples for a result
};

// The faulty machine of a synchronous job, by Minder's two principles: all machines of a job behave
// alike, and a fault lasts. Each metric is measured from its median over all machines, so that
// phases of the job are not attributed to a machine; each machine from its own past, so that one
// that is always a little warmer is not faulty; a change in units of the noise. `metrics`: panels
// of equal shape, machines by samples.
//
// Samples are read once; the reduced data is a sixteenth of them. Needs some 5 MB in addition to 72
// MB of samples.
FaultReport FindFaultyMachine(absl::Span<const Panel* const> metrics,
                              const FaultyOptions& options = {});

}  // namespace galen::series

#endif  // COMMON_SERIES_FAULTY_MACHINE_H_
