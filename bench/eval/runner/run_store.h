#ifndef BENCH_EVAL_RUNNER_RUN_STORE_H_
#define BENCH_EVAL_RUNNER_RUN_STORE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// Results of finished cases in a directory, one JSON file each, so that a run that was interrupted
// goes on where it stopped. Thread-safe as long as no two threads save the same case.
class RunStore {
 public:
  // Makes the directory. PERMISSION_DENIED when that cannot be done.
  static absl::StatusOr<RunStore> Open(const std::string& directory);

  // The result of that case, when there is one with this key. A file that is corrupt or has another
  // key is ignored.
  std::optional<v1::CaseResult> Load(const std::string& strategy, absl::string_view mode,
                                     const std::string& id, const std::string& key) const;

  // Stores a result, replacing an existing one atomically. PERMISSION_DENIED when it cannot be
  // written.
  absl::Status Save(const v1::CaseResult& result) const;

 private:
  explicit RunStore(std::string directory) : directory_(std::move(directory)) {}

  std::string directory_;
};

}  // namespace galen::eval

#endif  // BENCH_EVAL_RUNNER_RUN_STORE_H_
