#ifndef COMMON_TIMESERIES_FROZEN_H_
#define COMMON_TIMESERIES_FROZEN_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/timeseries/grid.h"

namespace galen::timeseries {

struct FrozenOptions {
  // A value that stays the same to the last bit for this many samples, while this share of the
  // others changed in the same time, was not measured: a hung collector serves its last values with
  // fresh times. (A value that is meant to be constant is so for its peers, too.)
  std::size_t least_samples = 30;
  double least_moving = 0.5;
  std::size_t least_peers = 2;
};

// A stretch in which an entity's values cannot be measurements.
struct Ghost {
  std::size_t entity = 0;
  std::size_t begin = 0;
  std::size_t end = 0;  // one behind
  double moving = 0;    // share of the peers that changed meanwhile
};

// The ghosts among the entities of a panel: at most one for each, its longest. Without enough peers
// there is no result. Linear, and once more for each frozen entity.
std::vector<Ghost> FindGhosts(const Panel& panel, const FrozenOptions& options = {});

// Marks ghosts as unknown.
void Forget(absl::Span<const Ghost> ghosts, Panel& panel);

// A longest run of equal known values; unknown ones between them do not end it. Empty (begin ==
// end) if nothing is known.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Run LongestConstantRun(absl::Span<const float> values);

// The place of the last known sample. Nothing if none is known. A series is stale if that lies too
// far back.
std::optional<std::size_t> LastKnown(absl::Span<const float> values);

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_FROZEN_H_
