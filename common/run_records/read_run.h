#ifndef COMMON_RUN_RECORDS_READ_RUN_H_
#define COMMON_RUN_RECORDS_READ_RUN_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/run_records/bytes.h"
#include "common/run_records/records.h"

namespace galen::run_records {

// Forms of files in which training programs record scalars.
enum class Form {
  kNone,
  kEventFile,    // TensorBoard: events.out.tfevents.*
  kWandb,        // Weights & Biases: run-*.wandb
  kWandbLines,   // the same: wandb-history.jsonl, wandb-summary.json
  kMlflowLines,  // MLflow's file store: mlruns/*/*/metrics/**
};

// By the content of its beginning, of which 4 KiB are enough.
Form FormOf(absl::string_view head);

// The name of the form for a person.
absl::string_view TitleOf(Form form);

// Reads a file of that form, in one pass and in constant memory but for what `records` keeps.
// `path` tells the run, and for MLflow the scalar. Damage ends the reading, or is counted, with a
// note.
void ReadRun(Form form, const std::string& path, ByteSource source, RunRecords& records);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_READ_RUN_H_
