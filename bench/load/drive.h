#ifndef BENCH_LOAD_DRIVE_H_
#define BENCH_LOAD_DRIVE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "galen/v1/incident.pb.h"
#include "services/cli/diagnosis_api.h"

namespace galen::load {

struct Driven {
  absl::Duration wall;
  std::vector<absl::Duration> latencies;  // from creation to the report, sorted
  std::int64_t events = 0;

  double PerSecond() const {
    return static_cast<double>(latencies.size()) / absl::ToDoubleSeconds(wall);
  }
  // `share` of them were done within it; 0 to 1.
  absl::Duration Percentile(double share) const;
};

// Has `count` diagnoses of the incident made, `at_once` of them under way at a time, and waits for
// each. INTERNAL when one ends without a cause.
absl::StatusOr<Driven> Drive(cli::DiagnosisApi& mesh, const galen::v1::Incident& incident,
                             const std::string& tenant, int count, int at_once);

}  // namespace galen::load

#endif  // BENCH_LOAD_DRIVE_H_
