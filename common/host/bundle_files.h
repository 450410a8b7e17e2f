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

// The files below one directory that somebody else filled. Paths are relative to it. Nothing
// outside is ever opened: links are followed only where they stay inside. Thread-safe.
//
// Errors of every method: INVALID_ARGUMENT the path is absolute, has "..", or is not a path;
// PERMISSION_DENIED it leads out of the directory, or may not be read; NOT_FOUND.
class BundleFiles {
 public:
  // NOT_FOUND when `directory` does not exist, FAILED_PRECONDITION when it is not a directory.
  static absl::StatusOr<BundleFiles> Open(const std::string& directory);

  // From now on what is read is remembered for kRemembered, by all copies of this: the checks of
  // one diagnosis read the same small files again and again. What is written meanwhile is seen
  // late.
  void Remember();
  static constexpr absl::Duration kRemembered = absl::Seconds(1);

  // Absolute, without links.
  const std::string& root() const { return root_; }

  // The first `limit` bytes of a regular file; `truncated` (may be null) says whether there were
  // more. FAILED_PRECONDITION when it is not a regular file.
  absl::StatusOr<std::string> Read(absl::string_view path, std::size_t limit,
                                   bool* truncated = nullptr) const;

  // The absolute path, without links, of a file or directory.
  absl::StatusOr<std::string> Resolve(absl::string_view path) const;

  // The names in a directory, sorted, "." and ".." left out. "" lists the root.
  absl::StatusOr<std::vector<std::string>> List(absl::string_view path) const;

 private:
  class Memory;
  explicit BundleFiles(std::string root) : root_(std::move(root)) {}

  absl::StatusOr<std::string> ReadAnew(absl::string_view path, std::size_t limit,
                                       bool* truncated) const;
  absl::StatusOr<std::string> ResolveAnew(absl::string_view path) const;
  absl::StatusOr<std::vector<std::string>> ListAnew(absl::string_view path) const;

  std::string root_;
  std::shared_ptr<Memory> memory_;  // nullptr: nothing is remembered
};

// OK when `path` is relative and stays below the place it is relative to, links apart.
// INVALID_ARGUMENT otherwise, with the path in the message.
absl::Status CheckRelative(absl::string_view path);

}  // namespace galen::host

#endif  // COMMON_HOST_BUNDLE_FILES_H_
