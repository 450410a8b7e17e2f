#ifndef COMMON_TELEMETRY_TSDB_VIEW_H_
#define COMMON_TELEMETRY_TSDB_VIEW_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/host/archive.h"

namespace galen::telemetry {

// A folder of our own that shows a Prometheus' data folder: real folders, and links to each of its
// files. A Prometheus that works in it can make, rename and delete what it wants, and none of that
// reaches the original: nothing is copied, and the original's lock is neither shown nor touched.
class TsdbView {
 public:
  // NOT_FOUND: no such folder, or neither blocks nor a write-ahead log in it; PERMISSION_DENIED;
  // RESOURCE_EXHAUSTED: more than 100,000 files.
  static absl::StatusOr<TsdbView> Make(const std::string& directory);

  const std::string& path() const { return folder_.path(); }
  std::size_t blocks() const { return blocks_; }
  // Range of the blocks; InfiniteFuture and InfinitePast without any.
  absl::Time first() const { return first_; }
  absl::Time last() const { return last_; }
  // Whether there is a write-ahead log, which alone may hold the latest samples.
  bool has_log() const { return has_log_; }

 private:
  explicit TsdbView(host::TemporaryDirectory folder) : folder_(std::move(folder)) {}

  absl::Status LinkFiles(const std::string& from, const std::string& to);
  absl::Status LinkBlock(const std::string& from, const std::string& to);
  absl::Status LinkLog(const std::string& from, const std::string& to);

  host::TemporaryDirectory folder_;
  std::size_t files_ = 0;
  std::size_t blocks_ = 0;
  absl::Time first_ = absl::InfiniteFuture();
  absl::Time last_ = absl::InfinitePast();
  bool has_log_ = false;
};

}  // namespace galen::telemetry

#endif  // COMMON_TELEMETRY_TSDB_VIEW_H_
