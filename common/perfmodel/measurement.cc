#include "common/perfmodel/measurement.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/perfmodel/predict.h"

namespace galen::perfmodel {

absl::string_view ToString(Measured kind) {
  switch (kind) {
    case Measured::kRate:
      return "rate";
    case Measured::kTransfer:
      return "transfer";
    case Measured::kStep:
      return "step";
  }
  return "";
}

absl::StatusOr<Bottleneck> FactorOf(const Measurement& one) {
  const Machine& machine = one.machine;
  Bottleneck held;
  held.volume = 1;
  if (one.kind == Measured::kTransfer) {
    return BottleneckOf(machine, one.collective, one.group);
  }
  if (one.resource == "compute") {
    GALEN_ASSIGN_OR_RETURN(held.rate, PeakOf(machine, one.precision));
    held.factor = absl::StrCat("compute.", machine.vendor, ".", WidthOf(one.precision));
  } else if (one.resource == "memory") {
    held.factor = "memory";
    held.rate = machine.memory;
  } else if (one.resource == "host") {
    held.factor = machine.host > 100e9 ? "host.c2c" : "host.pcie";
    held.rate = machine.host;
  } else if (one.resource == "pair") {
    held.factor = absl::StrCat("pair.", machine.links.empty() ? "pcie" : machine.links);
    held.rate = machine.links.empty() ? machine.host : machine.pair;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(one.id, ": is not a rate of compute, memory, host or pair"));
  }
  if (held.rate <= 0) {
    return absl::FailedPreconditionError(absl::StrCat(one.id, ": knowledge/hardware has no ",
                                                      one.resource, " rate of ", machine.gpu));
  }
  return held;
}

absl::StatusOr<double> Predict(const Measurement& one, const Factors& factors) {
  switch (one.kind) {
    case Measured::kRate: {
      GALEN_ASSIGN_OR_RETURN(const Bottleneck held, FactorOf(one));
      GALEN_ASSIGN_OR_RETURN(const double share, factors.At(held.factor));
      return held.rate * share;
    }
    case Measured::kTransfer:
      return CollectiveSeconds(one.machine, one.collective, one.group, one.bytes, factors);
    case Measured::kStep: {
      if (!one.job.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat(one.id, ": a step needs the model's shape"));
      }
      GALEN_ASSIGN_OR_RETURN(const StepTime time, PredictStep(*one.job, one.machine, factors));
      return time.total;
    }
  }
  return absl::InternalError("an unknown kind of measurement");
}

}  // namespace galen::perfmodel
