#ifndef TESTS_FUZZ_FUZZ_HOST_H_
#define TESTS_FUZZ_FUZZ_HOST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host/host.h"

namespace galen::fuzz {

// A machine that answers all requests, in order, from one text. Answers are separated by
// kEndOfAnswer. The first character of an answer is its kind: '+' a success, 'x' a program that
// failed, 'n' NOT_FOUND, 'p' PERMISSION_DENIED, 't' DEADLINE_EXCEEDED; any other and an answer that
// is missing: UNAVAILABLE, as for data that was not captured. The rest is the output or content;
// for paths and variables, one a line. Not thread-safe.
class FuzzHost final : public host::Host {
 public:
  static constexpr char kEndOfAnswer = '\x1e';

  explicit FuzzHost(absl::string_view answers) : answers_(answers) {}

  const std::string& name() const override { return name_; }
  bool live() const override { return false; }
  absl::StatusOr<host::CommandResult> Run(absl::Span<const std::string> argv,
                                          host::View view) const override;
  absl::StatusOr<std::string> ReadFile(absl::string_view path, host::View view) const override;
  absl::StatusOr<std::vector<std::string>> Glob(absl::string_view pattern,
                                                host::View view) const override;
  absl::StatusOr<std::map<std::string, std::string>> JobEnvironment() const override;
  // Two logs with the same text, of two nodes and ranks.
  absl::StatusOr<std::vector<host::JobLog>> JobLogs() const override;
  // One, for any request.
  std::vector<std::vector<std::string>> Captured(absl::Span<const std::string> prefix,
                                                 host::View view) const override;

 private:
  // The next answer's kind and text.
  char Next(std::string& text) const;
  absl::StatusOr<std::string> NextText() const;

  const std::string name_ = "node-1";
  mutable absl::string_view answers_;
};

}  // namespace galen::fuzz

#endif  // TESTS_FUZZ_FUZZ_HOST_H_
