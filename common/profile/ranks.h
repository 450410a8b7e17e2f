#ifndef COMMON_PROFILE_RANKS_H_
#define COMMON_PROFILE_RANKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/profile/report.h"

namespace galen::profile {

// One GPU of one trace beside those of others.
struct RankTimes {
  std::string who;  // "rank 3", "rank 3 GPU 1", "a.json GPU 0"
  std::size_t trace = 0;
  std::size_t device = 0;
  std::size_t steps = 0;
  double wall = 0;  // seconds of a step, the mean of its steps
  double compute = 0;
  double communication = 0;
  double exposed = 0;
  double score = 0;  // compute beside the median of all, in robust spreads; 0 where too few
  // Over the collectives found on all ranks: its extra wait compared with the rank that waited
  // least, in seconds of a step; and how often it was that rank.
  double waited = 0;
  std::size_t last = 0;
};

enum class Lateness {
  kNone,      // no rank differs from the others
  kComputes,  // it computes longer
  kArrives,   // it comes last to collectives and computes no longer: its host or its input
};

struct RankComparison {
  std::vector<RankTimes> ranks;
  std::size_t matched = 0;             // collectives found on all ranks
  std::string not_matched;             // why none is
  std::optional<std::size_t> slowest;  // of `ranks`
  Lateness lateness = Lateness::kNone;
  bool certain = false;  // against a median of four or more; of two or three none is the odd one
  double ahead = 0;      // share by which it computes longer than the median of the others
};

// Compares the GPUs of several traces. The clocks of their hosts need not agree: the rank that
// waits least in a collective came last to it. Pure.
RankComparison CompareRanks(absl::Span<const TraceReport> traces);

}  // namespace galen::profile

#endif  // COMMON_PROFILE_RANKS_H_
