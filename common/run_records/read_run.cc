#include "common/run_records/read_run.h"

#include <algorithm>
#include <utility>

#include "common/run_records/event_file.h"
#include "common/run_records/metric_lines.h"
#include "common/run_records/wandb_file.h"

namespace galen::run_records {

Form FormOf(absl::string_view head) {
  constexpr std::size_t kLooked = 4096;
  head = head.substr(0, kLooked);
  if (LooksLikeEventFile(head)) return Form::kEventFile;
  if (LooksLikeWandbFile(head)) return Form::kWandb;
  if (LooksLikeWandbLines(head)) return Form::kWandbLines;
  if (LooksLikeMlflowLines(head)) return Form::kMlflowLines;
  return Form::kNone;
}

absl::string_view TitleOf(Form form) {
  switch (form) {
    case Form::kNone:
      break;
    case Form::kEventFile:
      return "event file of TensorBoard";
    case Form::kWandb:
    case Form::kWandbLines:
      return "run of Weights & Biases";
    case Form::kMlflowLines:
      return "metric of MLflow's file store";
  }
  return "";
}

void ReadRun(Form form, const std::string& path, ByteSource source, RunRecords& records) {
  switch (form) {
    case Form::kNone:
      break;
    case Form::kEventFile:
      ReadEventFile(path, std::move(source), records);
      break;
    case Form::kWandb:
      ReadWandbFile(path, std::move(source), records);
      break;
    case Form::kWandbLines:
      ReadWandbLines(path, std::move(source), records);
      break;
    case Form::kMlflowLines:
      ReadMlflowLines(path, std::move(source), records);
      break;
  }
}

}  // namespace galen::run_records
