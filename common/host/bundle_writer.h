#ifndef COMMON_HOST_BUNDLE_WRITER_H_
#define COMMON_HOST_BUNDLE_WRITER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/bundle_files.h"

namespace galen::host {

// Writes files below a bundle directory and nowhere else: the directory may contain links of an
// untrusted author. Paths are relative to it. Each file appears completely or not at all. Errors:
// those of BundleFiles, and RESOURCE_EXHAUSTED: the disk is full.
class BundleWriter {
 public:
  // An existing bundle directory.
  static absl::StatusOr<BundleWriter> Open(const std::string& directory);

  // A new bundle directory, created with its parents. ALREADY_EXISTS: it is not empty.
  static absl::StatusOr<BundleWriter> Create(const std::string& directory);

  const BundleFiles& files() const { return files_; }

  // Writes or replaces a file, making directories as needed.
  absl::Status Write(absl::string_view path, absl::string_view content) const;

  // Copies a file of any size in blocks of whole lines (at most 8 MiB each), each passed through
  // `change`. A PEM key of up to 64 KiB is never split between blocks.
  absl::Status Copy(const std::string& source, absl::string_view path,
                    const std::function<std::string(absl::string_view)>& change) const;

 private:
  explicit BundleWriter(BundleFiles files) : files_(std::move(files)) {}

  // Creates the directories of `path` and returns the absolute path of the file.
  absl::StatusOr<std::string> Prepare(absl::string_view path) const;

  BundleFiles files_;
};

}  // namespace galen::host

#endif  // COMMON_HOST_BUNDLE_WRITER_H_
