#ifndef COMMON_RUN_RECORDS_METRIC_LINES_H_
#define COMMON_RUN_RECORDS_METRIC_LINES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/run_records/bytes.h"
#include "common/run_records/records.h"

namespace galen::run_records {

// wandb-history.jsonl and wandb-summary.json of Weights & Biases: objects with _timestamp, _step
// and scalars, one a line.
bool LooksLikeWandbLines(absl::string_view head);
void ReadWandbLines(const std::string& path, ByteSource source, RunRecords& records);

// A metric of MLflow's file store, mlruns/EXPERIMENT/RUN/metrics/NAME: "milliseconds value step" a
// line (mlflow/mlflow mlflow/store/tracking/file_store.py, _log_run_metric).
bool LooksLikeMlflowLines(absl::string_view head);
void ReadMlflowLines(const std::string& path, ByteSource source, RunRecords& records);

// The number of a JSON value: a number, or the texts that stand for those that JSON cannot write
// ("NaN", "Infinity", "-Infinity").
std::optional<double> NumberOfJson(absl::string_view json);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_METRIC_LINES_H_
