#ifndef COMMON_HOST_BUNDLE_FILES_H_
#define COMMON_HOST_BUNDLE_FILES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::host {

// The files below one untrusted directory. Paths are relative to it. Nothing outside is ever
// opened: links are followed only if they stay inside. Thread-safe.
//
// Errors of every method: INVALID_ARGUMENT the path is absolute, has "..", or is not a path;
// PERMISSION_DENIED it leads out of the directory, or may not be read; NOT_FOUND.
class BundleFiles {
 public:
  // NOT_FOUND: `directory` does not exist; FAILED_PRECONDITION: it is not a directory.
  static absl::StatusOr<BundleFiles> Open(const std::string& directory);

  // Caches reads for kRemembered, shared by all copies of this object: the checks of one diagnosis
  // read the same small files repeatedly. Changes are visible with that delay.
  void Remember();
  static constexpr absl::Duration kRemembered = absl::Seconds(1);

  // Absolute, without links.
  const std::string& root() const { return root_; }

  // The first `limit` bytes of a regular file; `truncated` (may be null) is set if there are more.
  // FAILED_PRECONDITION: it is not a regular file.
  absl::StatusOr<std::string> Read(absl::string_view path, std::size_t limit,
                                   bool* truncated = nullptr) const;

  // The absolute path, without links, of a file or directory.
  absl::StatusOr<std::string> Resolve(absl::string_view path) const;

  // The names in a directory, sorted, without "." and "..". "" lists the root.
  absl::StatusOr<std::vector<std::string>> List(absl::string_view path) const;

 private:
  class Memory;
  explicit BundleFiles(std::string root) : root_(std::move(root)) {}

  absl::StatusOr<std::string> ReadAnew(absl::string_view path, std::size_t limit,
                                       bool* truncated) const;
  absl::StatusOr<std::string> ResolveAnew(absl::string_view path) const;
  absl::StatusOr<std::vector<std::string>> ListAnew(absl::string_view path) const;

  std::string root_;
  std::shared_ptr<Memory> memory_;  // nullptr: no caching
};

// OK: `path` is relative and stays below its base, ignoring links. Otherwise INVALID_ARGUMENT, with
// the path in the message.
absl::Status CheckRelative(absl::string_view path);

}  // namespace galen::host

#endif  // COMMON_HOST_BUNDLE_FILES_H_
