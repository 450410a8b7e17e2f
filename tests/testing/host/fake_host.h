#ifndef TESTS_TESTING_HOST_FAKE_HOST_H_
#define TESTS_TESTING_HOST_FAKE_HOST_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/host/host.h"

namespace galen::testing {

// A machine with the content that a test gives it. Everything else is UNAVAILABLE, as in a bundle
// that did not capture it. Fill it first: reading is thread-safe, filling is not.
class FakeHost final : public host::Host {
 public:
  explicit FakeHost(std::string name = "node-1") : name_(std::move(name)) {}

  // `command` is the argv joined by spaces: "nvidia-smi -q -x".
  FakeHost& AddCommand(absl::string_view command, absl::string_view out, int exit_code = 0,
                       absl::string_view err = "", host::View view = host::View::kHost);
  FakeHost& AddCommandResult(absl::string_view command, host::CommandResult result,
                             host::View view = host::View::kHost);
  // The program is known not to be installed.
  FakeHost& AddAbsentCommand(absl::string_view command, host::View view = host::View::kHost);
  FakeHost& AddCommandError(absl::string_view command, absl::Status error,
                            host::View view = host::View::kHost);

  FakeHost& AddFile(absl::string_view path, absl::string_view content,
                    host::View view = host::View::kHost);
  // The file is known not to exist.
  FakeHost& AddAbsentFile(absl::string_view path, host::View view = host::View::kHost);
  FakeHost& AddFileError(absl::string_view path, absl::Status error,
                         host::View view = host::View::kHost);

  FakeHost& SetJobEnvironment(std::map<std::string, std::string> environment);
  FakeHost& SetLive(bool live);
  // A log of the job; kept in a temporary file until the host is gone.
  FakeHost& AddLog(absl::string_view name, absl::string_view content, absl::string_view node = "");
  // A log that is a file already.
  FakeHost& AddLogFile(host::JobLog log);

  const std::string& name() const override { return name_; }
  bool live() const override { return live_; }
  absl::StatusOr<host::CommandResult> Run(absl::Span<const std::string> argv,
                                          host::View view = host::View::kHost) const override;
  absl::StatusOr<std::string> ReadFile(absl::string_view path,
                                       host::View view = host::View::kHost) const override;
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                host::View view = host::View::kHost) const override;
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override;
  absl::StatusOr<std::vector<host::JobLog>> JobLogs() const override;
  std::vector<std::vector<std::string>> Captured(
      absl::Span<const std::string> prefix, host::View view = host::View::kHost) const override;

 private:
  using Key = std::pair<host::View, std::string>;

  // Removes the directory of the logs.
  struct Directory {
    std::string path;
    ~Directory();
  };

  std::string name_;
  bool live_ = false;
  std::vector<host::JobLog> logs_;
  std::shared_ptr<Directory> directory_;
  std::map<Key, absl::StatusOr<host::CommandResult>> commands_;
  std::map<Key, absl::StatusOr<std::string>> files_;
  absl::StatusOr<std::map<std::string, std::string>> environment_ =
      absl::UnavailableError("the job's environment was not captured");
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_HOST_FAKE_HOST_H_
