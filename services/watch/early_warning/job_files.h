#ifndef SERVICES_WATCH_EARLY_WARNING_JOB_FILES_H_
#define SERVICES_WATCH_EARLY_WARNING_JOB_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/hot_swap.h"
#include "common/perfmodel/calibrate.h"
#include "services/watch/early_warning/predictions.h"

namespace galen::watch::early_warning {

// Follows a directory of job descriptions, LABEL.yaml for the job with that label in telemetry.
// Hidden files are ignored (Kubernetes keeps its own in mounted volumes); every other file that
// cannot be predicted is a problem with a name. Refresh() is for one thread; the rest is
// thread-safe.
class JobFiles {
 public:
  struct Options {
    std::string directory;
    std::size_t most_files = 1000;    // the first by name
    std::size_t most_bytes = 65'536;  // of a file
  };
  // Reads all files. INVALID_ARGUMENT if the directory does not exist.
  static absl::StatusOr<std::unique_ptr<JobFiles>> Open(Options options, HardwareFacts facts,
                                                        perfmodel::Calibration calibration);

  // Reads changed files. Returns the new problems.
  std::vector<std::string> Refresh();

  // By job label; and the problem of each file without a job.
  struct Read {
    std::map<std::string, PredictedJob> jobs;
    std::map<std::string, std::string> problems;
  };
  std::shared_ptr<const Read> read() const { return read_.Get(); }

 private:
  // Size and times of a file, to detect changes.
  struct Look {
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed = 0;  // nanoseconds
    bool operator==(const Look&) const = default;
  };
  struct Known {
    Look look;
    absl::StatusOr<PredictedJob> job;
  };

  JobFiles(Options options, HardwareFacts facts, perfmodel::Calibration calibration);
  absl::StatusOr<PredictedJob> ReadOne(const std::string& name) const;

  const Options options_;
  const HardwareFacts facts_;
  const perfmodel::Calibration calibration_;
  std::map<std::string, Known> known_;  // by file
  HotSwap<Read> read_;
};

}  // namespace galen::watch::early_warning

#endif  // SERVICES_WATCH_EARLY_WARNING_JOB_FILES_H_
