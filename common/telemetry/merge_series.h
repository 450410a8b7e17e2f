#ifndef COMMON_TELEMETRY_MERGE_SERIES_H_
#define COMMON_TELEMETRY_MERGE_SERIES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/telemetry/source.h"

namespace galen::telemetry {

// Adds the series of one more source to those of others. Two are one if their labels are the same,
// or if the labels of one are among those of the other and neither source has a second series that
// would fit. `evaluated`: the samples are results on the points of a question, not collected ones.
struct MergeResult {
  std::size_t differ = 0;  // pairs whose values differ, so that they may be of two things
  std::string example;     // one of them, for people
};
MergeResult MergeSeries(std::vector<TimeSeries> more, bool evaluated,
                        std::vector<TimeSeries>& series);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_MERGE_SERIES_H_
