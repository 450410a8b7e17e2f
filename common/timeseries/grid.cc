#include "common/timeseries/grid.h"

#include "absl/strings/str_cat.h"

namespace galen::timeseries {

absl::StatusOr<Grid> MakeGrid(absl::Time start, absl::Time end, absl::Duration step) {
  if (start == absl::InfinitePast() || end == absl::InfiniteFuture() || end < start) {
    return absl::InvalidArgumentError("time axis: it needs a finite start, and an end not before");
  }
  if (step < absl::Milliseconds(1) || step == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("time axis: a step of ",
                                                   absl::FormatDuration(step),
                                                   " is invalid; use a millisecond or more"));
  }
  absl::Duration rest;
  const std::int64_t steps = absl::IDivDuration(end - start, step, &rest);
  if (steps >= static_cast<std::int64_t>(kMostSamples)) {
    return absl::InvalidArgumentError(absl::StrCat("time axis: ", steps, " steps are more than ",
                                                   kMostSamples, "; take a longer step"));
  }
  return Grid{start, step, static_cast<std::size_t>(steps) + 1};
}

}  // namespace galen::timeseries
