#ifndef COMMON_ADVISOR_KAPLAN_MEIER_H_
#define COMMON_ADVISOR_KAPLAN_MEIER_H_

#include <vector>

#include "absl/types/span.h"
#include "common/advisor/life_counts.h"

// Survival: how many runs last how long.
namespace galen::advisor {

// A lifetime, and whether a failure ended it.
struct Life {
  double hours = 0;
  bool failed = false;
};

struct CurvePoint {
  double hours = 0;
  double surviving = 1;  // share that lasts longer than `hours`
  double low = 0;        // its 95 % interval (Greenwood, on the log-log scale)
  double high = 1;
};
// Kaplan and Meier's estimate (1958), a point at each time of a failure.
std::vector<CurvePoint> KaplanMeier(std::vector<Life> lives);
// The same for counts, by the actuarial method: a point at the end of each age. `signs`: at least
// one sign this strong; 0: all.
std::vector<CurvePoint> KaplanMeier(absl::Span<const LifeCounts::Cell> cells, int least_sign);

}  // namespace galen::advisor

#endif  // COMMON_ADVISOR_KAPLAN_MEIER_H_
