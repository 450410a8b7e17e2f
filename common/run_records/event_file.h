#ifndef COMMON_RUN_RECORDS_EVENT_FILE_H_
#define COMMON_RUN_RECORDS_EVENT_FILE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/run_records/bytes.h"
#include "common/run_records/records.h"

namespace galen::run_records {

// Event files of TensorBoard: TFRecords (length, its checksum, record, its checksum; tensorflow
// core/lib/io/record_writer.h) of tensorboard.Event, whose Summary has scalars as `simple_value` or
// as a tensor (tensorflow/tensorboard tensorboard/compat/proto/event.proto, summary.proto,
// tensor.proto).
bool LooksLikeEventFile(absl::string_view head);
void ReadEventFile(const std::string& path, ByteSource source, RunRecords& records);

}  // namespace galen::run_records

#endif  // COMMON_RUN_RECORDS_EVENT_FILE_H_
