#ifndef COMMON_TIMESERIES_PEERS_H_
#define COMMON_TIMESERIES_PEERS_H_

#include <cstddef>
#include <vector>

#include "common/timeseries/grid.h"

namespace galen::timeseries {

struct PeerOptions {
  std::size_t window = 15;  // samples whose median is compared
  // Further than this many spreads from the median of its peers: Iglewicz and Hoaglin use 3.5 for
  // one sample; over all windows of a thousand entities noise alone exceeds 5.
  double least_score = 6;
  // A difference that is small relative to the level does not count either: 2 % (judgement).
  double least_relative = 0.02;
  // This many windows in a row.
  std::size_t least_windows = 4;
  // A behaviour that this large a share of the entities shows is a group's habit, not an outlier.
  double most_share = 0.1;
  std::size_t least_peers = 3;  // peers with known values that a window needs
};

struct Outlier {
  std::size_t entity = 0;
  std::size_t begin = 0;  // sample
  std::size_t end = 0;    // one behind
  float score = 0;        // median of its windows', in spreads; below 0: lower than its peers
  float value = 0;        // medians over those windows
  float peers = 0;
};

struct PeerReport {
  std::vector<Outlier> outliers;  // the furthest first, the longest stretch of each entity
  std::size_t windows = 0;        // all
  std::size_t compared = 0;       // in which enough peers were known
};

// Finds the entities that differ from their peers. A shift that all make is not attributed to any:
// each window is measured from the median of the others' windows. With four entities one outlier
// can be identified, with three none. Costs a selection for each window: some 20 ns a sample.
PeerReport FindOutliers(const Panel& panel, const PeerOptions& options = {});

}  // namespace galen::timeseries

#endif  // COMMON_TIMESERIES_PEERS_H_
