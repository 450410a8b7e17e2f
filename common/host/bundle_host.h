#ifndef COMMON_HOST_BUNDLE_HOST_H_
#define COMMON_HOST_BUNDLE_HOST_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host/bundle.h"
#include "common/host/bundle_files.h"
#include "common/host/host.h"

namespace galen::host {

// A node of a bundle: serves exactly the captured data and infers nothing. A command is found by
// its exact argv. Made by Bundle::OpenNode. Thread-safe.
//
// Errors in addition to those of Host: DATA_LOSS an output file that commands.yaml names is
// missing; INVALID_ARGUMENT a path is not absolute or has "..".
class BundleHost final : public Host {
 public:
  // `files` are those of the bundle, `captured` belongs to `bundle`, which is kept alive.
  BundleHost(std::string name, const BundleFiles& files, const CapturedNode& captured,
             std::shared_ptr<const Bundle> bundle);

  const std::string& name() const override { return name_; }
  bool live() const override { return false; }
  absl::StatusOr<CommandResult> Run(absl::Span<const std::string> argv, View view) const override;
  absl::StatusOr<std::string> ReadFile(absl::string_view path, View view) const override;
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                View view) const override;
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override;
  // All logs of the incident that are in the bundle.
  absl::StatusOr<std::vector<JobLog>> JobLogs() const override;
  std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                 View view) const override;

 private:
  const CapturedView& Capture(View view) const;
  std::string Directory(View view) const;
  // UNAVAILABLE: the view was not captured at all.
  absl::Status CheckView(View view) const;
  bool IsAbsent(absl::string_view path, View view) const;
  absl::StatusOr<std::string> ReadOutput(const std::string& file, View view, bool* truncated) const;

  using Index = std::map<std::vector<std::string>, const CapturedCommand*>;

  const std::string name_;
  const BundleFiles& files_;
  const CapturedNode& captured_;
  const std::shared_ptr<const Bundle> bundle_;
  Index host_commands_;
  Index job_commands_;
};

}  // namespace galen::host

#endif  // COMMON_HOST_BUNDLE_HOST_H_
