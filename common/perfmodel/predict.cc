#include "common/perfmodel/predict.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/perfmodel/task.h"

namespace galen::perfmodel {
namespace {

// Operations a second on matrices that do not suit the matrix units: two values of 16 bits, or one
// of 32, per lane of the vector units, or a quarter of the peak if those are unknown.
double OddRate(const Machine& machine, absl::string_view precision, double peak) {
  const auto vector = machine.peaks.find("fp32");
  const double lanes = 4 / KeptBytes(precision);
  return std::min(peak, vector != machine.peaks.end() ? lanes * vector->second : peak / 4);
}

}  // namespace

absl::StatusOr<StepTime> PredictStep(const Job& job, const Machine& machine,
                                     const Factors& factors) {
  GALEN_ASSIGN_OR_RETURN(const double peak, PeakOf(machine, job.shape.precision));
  GALEN_ASSIGN_OR_RETURN(
      const double matrices,
      factors.At(absl::StrCat("compute.", machine.vendor, ".", WidthOf(job.shape.precision))));
  GALEN_ASSIGN_OR_RETURN(const double memory, factors.At("memory"));
  GALEN_ASSIGN_OR_RETURN(const double step, factors.At(absl::StrCat("step.", machine.gpu)));
  GALEN_ASSIGN_OR_RETURN(const double overlap, factors.At("overlap"));
  if (machine.memory <= 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(machine.gpu, ": knowledge/hardware has no memory_gb_s of it"));
  }
  StepTime time;
  time.work = WorkOf(job, machine);
  const StepWork& work = time.work;
  time.matrix_rate = peak * matrices * step;
  time.memory_rate = machine.memory * memory * step;
  const double odd = OddRate(machine, job.shape.precision, peak) * matrices * step;
  Demand hides;  // traffic that may overlap with all the work
  hides.compute = work.flops / time.matrix_rate + work.odd_flops / odd;
  hides.memory = work.bytes / time.memory_rate;
  double stands = 0;  // traffic that the work waits for
  for (const Traffic& one : work.traffic) {
    GALEN_ASSIGN_OR_RETURN(const double seconds,
                           CollectiveSeconds(machine, one.kind, one.group, one.bytes, factors));
    time.traffic.push_back(seconds * one.times);
    (one.hides ? hides.interconnect : stands) += seconds * one.times;
  }
  const double exposed = Exposed(hides, overlap);
  time.compute = hides.compute;
  time.memory = hides.memory;
  time.interconnect = stands + exposed;
  time.hidden = hides.interconnect - exposed;
  time.bubble = work.bubble * (hides.compute + hides.memory + stands);
  time.total = time.compute + time.memory + time.interconnect + time.bubble;
  if (!std::isfinite(time.total) || time.total <= 0) {
    return absl::InvalidArgumentError("shape: its numbers are too large for a prediction");
  }
  return time;
}

}  // namespace galen::perfmodel
