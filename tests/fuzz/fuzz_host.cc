#include "tests/fuzz/fuzz_host.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace galen::fuzz {
namespace {

absl::Status ErrorOf(char kind) {
  switch (kind) {
    case 'n':
      return absl::NotFoundError("it does not exist");
    case 'p':
      return absl::PermissionDeniedError("it may not be read");
    case 't':
      return absl::DeadlineExceededError("it did not answer");
    default:
      return absl::UnavailableError("it was not captured");
  }
}

// A path that matches `pattern`, as every host promises: its wildcards become the parts of `line`
// between slashes.
std::string Matching(absl::string_view pattern, absl::string_view line) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, '/');
  std::size_t next = 0;
  std::string path;
  bool in_class = false;
  for (const char c : pattern) {
    if (in_class) {
      in_class = c != ']';
    } else if (c == '*') {
      const absl::string_view part = next < parts.size() ? parts[next++] : "";
      path.append(part.empty() ? std::string("0") : std::string(part));
    } else if (c == '?' || c == '[') {
      path.push_back('0');
      in_class = c == '[';
    } else {
      path.push_back(c);
    }
  }
  return path;
}

}  // namespace

char FuzzHost::Next(std::string& text) const {
  if (answers_.empty()) return 'u';
  const std::size_t end = answers_.find(kEndOfAnswer);
  const absl::string_view answer = answers_.substr(0, end);
  answers_.remove_prefix(end == absl::string_view::npos ? answers_.size() : end + 1);
  if (answer.empty()) return 'u';
  text = std::string(answer.substr(1));
  return answer[0];
}

absl::StatusOr<std::string> FuzzHost::NextText() const {
  std::string text;
  const char kind = Next(text);
  if (kind != '+') return ErrorOf(kind);
  return text;
}

absl::StatusOr<host::CommandResult> FuzzHost::Run(absl::Span<const std::string> /*argv*/,
                                                  host::View /*view*/) const {
  host::CommandResult result;
  const char kind = Next(result.out);
  if (kind == 'x') {
    result.exit_code = 1;
    // The recorded output counts as both stdout and stderr.
    result.err = result.out;
    return result;
  }
  if (kind != '+') return ErrorOf(kind);
  return result;
}

absl::StatusOr<std::string> FuzzHost::ReadFile(absl::string_view /*path*/,
                                               host::View /*view*/) const {
  return NextText();
}

absl::StatusOr<std::vector<std::string>> FuzzHost::Glob(absl::string_view pattern,
                                                        host::View /*view*/) const {
  absl::StatusOr<std::string> text = NextText();
  if (!text.ok()) return text.status();
  std::set<std::string> paths;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    paths.insert(Matching(pattern, line));
  }
  return std::vector<std::string>(paths.begin(), paths.end());
}

absl::StatusOr<std::map<std::string, std::string>> FuzzHost::JobEnvironment() const {
  absl::StatusOr<std::string> text = NextText();
  if (!text.ok()) return text.status();
  std::map<std::string, std::string> environment;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    environment.insert(variable);
  }
  return environment;
}

absl::StatusOr<std::vector<host::JobLog>> FuzzHost::JobLogs() const {
  absl::StatusOr<std::string> text = NextText();
  if (!text.ok()) return text.status();
  static const std::string kPath = absl::StrCat("/dev/shm/galen-fuzz-log-", getpid());
  static const bool kRemoved = std::atexit([] { unlink(kPath.c_str()); }) == 0;
  const int file = open(kPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (!kRemoved || file < 0 || write(file, text->data(), text->size()) < 0) std::abort();
  close(file);
  std::vector<host::JobLog> logs(2);
  logs[0] = {.name = "train.log", .path = kPath, .node = name_, .rank = 0, .kind = "job"};
  logs[1] = {.name = "other.log", .path = kPath, .node = "node-2", .rank = 1, .kind = "job"};
  return logs;
}

std::vector<std::vector<std::string>> FuzzHost::Captured(absl::Span<const std::string> prefix,
                                                         host::View /*view*/) const {
  std::vector<std::string> argv(prefix.begin(), prefix.end());
  argv.insert(argv.end(), {"17", "-P"});
  return {argv};
}

}  // namespace galen::fuzz
