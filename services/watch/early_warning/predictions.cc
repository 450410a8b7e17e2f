#include "services/watch/early_warning/predictions.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/perfmodel/expect.h"

namespace galen::watch::early_warning {
namespace {

using perfmodel::Covers;

constexpr char kThroughput[] = "throughput";
constexpr char kPredictedLow[] = "throughput_predicted_low";

// The scope that the metric itself declares; nothing: it depends on the writer.
Covers CoversOf(const telemetry::Measured& throughput, Covers otherwise) {
  if (throughput.rows.empty() || throughput.quantity == nullptr) return otherwise;
  for (const telemetry::MetricOf& metric : throughput.quantity->metrics) {
    if (metric.metric == throughput.rows.front().metric && metric.of == "gpu") return Covers::kGpu;
  }
  return otherwise;
}

}  // namespace

absl::StatusOr<PredictedJob> PredictJob(absl::string_view text, absl::string_view file,
                                        const HardwareFacts& facts,
                                        const perfmodel::Calibration& calibration) {
  const auto find = [&facts](const std::string& model) -> const std::map<std::string, double>* {
    const auto found = facts.find(model);
    return found != facts.end() ? &found->second : nullptr;
  };
  GALEN_ASSIGN_OR_RETURN(const perfmodel::JobOnMachine read,
                         perfmodel::ReadJobFile(text, file, find));
  const absl::StatusOr<perfmodel::Expectation> expected =
      perfmodel::Expect(read.job, read.machine, calibration);
  if (!expected.ok()) {
    return absl::Status(expected.status().code(),
                        absl::StrCat(file, ": ", expected.status().message()));
  }
  PredictedJob job;
  job.low = expected->throughput.low;
  job.gpus = static_cast<double>(read.job.shape.gpus);
  job.nodes = std::ceil(job.gpus / static_cast<double>(read.machine.gpus_per_node));
  job.covers = read.covers;
  if (!std::isfinite(job.low) || !(job.low > 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat(file,
                     ": the model gives no lower end for this job; its fields may be far "
                     "from any real job's"));
  }
  return job;
}

Assumed LowEndsOf(const std::map<std::string, PredictedJob>& jobs,
                  const std::map<std::string, telemetry::Measured>& measured) {
  Assumed assumed;
  const auto throughput = measured.find(kThroughput);
  if (throughput == measured.end()) return assumed;
  for (const auto& [name, job] : jobs) {
    double parts = 1;
    switch (CoversOf(throughput->second, job.covers)) {
      case Covers::kJob:
        break;
      case Covers::kNode:
        parts = job.nodes;
        break;
      case Covers::kGpu:
        parts = job.gpus;
        break;
    }
    assumed[kPredictedLow][name] = static_cast<float>(job.low / parts);
  }
  return assumed;
}

}  // namespace galen::watch::early_warning
