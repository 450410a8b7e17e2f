#ifndef COMMON_TELEMETRY_GROWING_ERRORS_H_
#define COMMON_TELEMETRY_GROWING_ERRORS_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/telemetry/named_source.h"
#include "common/telemetry/rules.h"

namespace galen::telemetry {

// A counter of errors that grows and that nothing reads.
struct GrowingError {
  std::string clears;  // the family of checks that it belongs to (Family::clears)
  std::string metric;
  Place place;
  double growth = 0;  // between the two times
};

// Counters that a family of `rules` takes for errors, that are neither in `read` nor waived, and
// that grow between two times at a place that is `wanted` (null: any). `complete` becomes false
// where more of them are there than are asked for, or some answer came cut.
absl::StatusOr<std::vector<GrowingError>> FindGrowingErrors(
    NamedSource& source, const Rules& rules, absl::Time start, absl::Time end,
    const std::set<std::string>& read, const std::function<bool(const Place&)>& wanted,
    const Call& call, bool& complete);

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_GROWING_ERRORS_H_
