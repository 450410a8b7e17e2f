#ifndef COMMON_PERFMODEL_TABLES_READ_TABLE_H_
#define COMMON_PERFMODEL_TABLES_READ_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/perfmodel/measurement.h"

namespace galen::perfmodel {

// The facts of knowledge/hardware about one GPU model; nullptr for an unknown model.
using FactsOf = absl::FunctionRef<const std::map<std::string, double>*(const std::string& model)>;

// Reads measurements from a file written by people (docs/perfmodel.md has its fields).
// INVALID_ARGUMENT "file:line: what; remedy": an unknown field, a GPU without facts, an invalid
// number, a duplicate id, two values of one measurement, or more than kMostMeasurements.
absl::StatusOr<std::vector<Measurement>> ReadTable(absl::string_view text, absl::string_view file,
                                                   FactsOf facts);

// INVALID_ARGUMENT that names both places if two have one id. A duplicate measurement would
// calibrate what it is compared with.
absl::Status UniqueIds(absl::Span<const Measurement> measurements);

// All of perfmodel/*.yaml in the knowledge's directories. NOT_FOUND if there is none.
absl::StatusOr<std::vector<Measurement>> LoadTables(const std::vector<std::string>& directories,
                                                    FactsOf facts);

// A job to predict: gpu, gpus_per_node, nics, fabric and shape, as in an entry. `throughput_of` is
// the scope of one series of its throughput in telemetry, for programs that watch it.
enum class Covers { kJob, kNode, kGpu };
struct JobOnMachine {
  Job job;
  Machine machine;
  Covers covers = Covers::kJob;
};
absl::StatusOr<JobOnMachine> ReadJobFile(absl::string_view text, absl::string_view file,
                                         FactsOf facts);

// "8x400": this many network adapters of this many Gbit/s, as bytes a second together.
absl::StatusOr<double> ParseNics(absl::string_view text);

}  // namespace galen::perfmodel

#endif  // COMMON_PERFMODEL_TABLES_READ_TABLE_H_
