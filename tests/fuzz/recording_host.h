#ifndef TESTS_FUZZ_RECORDING_HOST_H_
#define TESTS_FUZZ_RECORDING_HOST_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host/host.h"

namespace galen::fuzz {

// Answers from another host, and records the answers in the form that FuzzHost reads: a check makes
// the same requests to both and gets the same answers. Long answers are shortened first, so that
// they fit into a seed. Not thread-safe.
class RecordingHost final : public host::Host {
 public:
  // No answer is longer than `answer_bytes`; of the logs of the job, number `log` is given.
  RecordingHost(const host::Host& host, std::size_t answer_bytes, std::size_t log)
      : host_(host), answer_bytes_(answer_bytes), log_(log) {}

  // All answers so far.
  std::string answers() const;
  // Whether there was a log of that number, once logs were requested.
  bool gave_log() const { return gave_log_; }

  const std::string& name() const override { return host_.name(); }
  bool live() const override { return false; }
  absl::StatusOr<host::CommandResult> Run(absl::Span<const std::string> argv,
                                          host::View view) const override;
  absl::StatusOr<std::string> ReadFile(absl::string_view path, host::View view) const override;
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                host::View view) const override;
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override;
  absl::StatusOr<std::vector<host::JobLog>> JobLogs() const override;
  std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                 host::View view) const override;

 private:
  // Writes an answer down and gives it as FuzzHost takes it.
  std::string Note(std::string answer) const;
  std::string Note(char kind, absl::string_view text) const;
  std::string Note(const absl::Status& status) const;
  // The other host's path for FuzzHost's `path`: FuzzHost fills wildcards in its own way.
  std::string Real(absl::string_view path) const;

  const host::Host& host_;
  const std::size_t answer_bytes_;
  const std::size_t log_;
  mutable std::string answers_;
  mutable bool gave_log_ = false;
  // Paths, up to the last part that differs, and the other host's paths for them.
  mutable std::map<std::string, std::string, std::greater<>> real_;
};

// The text that each `*` of a glob(7) pattern matches in the path, joined by slashes.
std::string StarsOfPath(absl::string_view pattern, absl::string_view path);

// The most informative `limit` bytes of a text at most: the first GPU of nvidia-smi's reports, the
// first elements of JSON lists, else lines about faults, and the first lines.
std::string Shortened(absl::string_view text, std::size_t limit);

}  // namespace galen::fuzz

#endif  // TESTS_FUZZ_RECORDING_HOST_H_
