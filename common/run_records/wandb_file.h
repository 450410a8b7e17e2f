#ifndef COMMON_RUN_RECORDS_WANDB_FILE_H_
#define COMMON_RUN_RECORDS_WANDB_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/run_records/bytes.h"
#include "common/run_records/records.h"

namespace galen::run_records {

// run-*.wandb of Weights & Biases: a head of seven bytes, then the log format of LevelDB (blocks of
// 32 KiB with chunks: CRC-32 of type and data, length, type; wandb/wandb
// wandb/sdk/internal/datastore.py, core/internal/transactionlog) with messages
// wandb_internal.Record (wandb/proto/wandb_internal.proto), whose histories have the scalars.
bool LooksLikeWandbFile(absl::string_view head);
void ReadWandbFile(const std::string& path, ByteSource source, RunRecords& records);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_WANDB_FILE_H_
