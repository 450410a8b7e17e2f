#include "tests/testing/host/fake_host.h"

#include <fnmatch.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace galen::testing {
namespace {

// The path up to the last slash before the first wildcard.
std::string KnownParent(absl::string_view pattern) {
  const absl::string_view fixed = pattern.substr(0, pattern.find_first_of("*?["));
  return std::string(fixed.substr(0, fixed.rfind('/') + 1));
}

}  // namespace

FakeHost& FakeHost::AddCommand(absl::string_view command, absl::string_view out, int exit_code,
                               absl::string_view err, host::View view) {
  host::CommandResult result;
  result.exit_code = exit_code;
  result.out = std::string(out);
  result.err = std::string(err);
  result.duration = absl::Milliseconds(100);
  return AddCommandResult(command, std::move(result), view);
}

FakeHost& FakeHost::AddCommandResult(absl::string_view command, host::CommandResult result,
                                     host::View view) {
  commands_.insert_or_assign(Key(view, command), std::move(result));
  return *this;
}

FakeHost& FakeHost::AddAbsentCommand(absl::string_view command, host::View view) {
  return AddCommandError(command, absl::NotFoundError(absl::StrCat(command, ": not installed")),
                         view);
}

FakeHost& FakeHost::AddCommandError(absl::string_view command, absl::Status error,
                                    host::View view) {
  commands_.insert_or_assign(Key(view, command), std::move(error));
  return *this;
}

FakeHost& FakeHost::AddFile(absl::string_view path, absl::string_view content, host::View view) {
  files_.insert_or_assign(Key(view, path), std::string(content));
  return *this;
}

FakeHost& FakeHost::AddAbsentFile(absl::string_view path, host::View view) {
  return AddFileError(path, absl::NotFoundError(absl::StrCat(path, ": does not exist")), view);
}

FakeHost& FakeHost::AddFileError(absl::string_view path, absl::Status error, host::View view) {
  files_.insert_or_assign(Key(view, path), std::move(error));
  return *this;
}

FakeHost& FakeHost::SetJobEnvironment(std::map<std::string, std::string> environment) {
  environment_ = std::move(environment);
  return *this;
}

FakeHost& FakeHost::SetLive(bool live) {
  live_ = live;
  return *this;
}

absl::StatusOr<host::CommandResult> FakeHost::Run(absl::Span<const std::string> argv,
                                                  host::View view) const {
  const std::string command = absl::StrJoin(argv, " ");
  const auto it = commands_.find(Key(view, command));
  if (it == commands_.end()) {
    return absl::UnavailableError(absl::StrCat(command, ": not captured"));
  }
  return it->second;
}

absl::StatusOr<std::string> FakeHost::ReadFile(absl::string_view path, host::View view) const {
  const auto it = files_.find(Key(view, path));
  if (it == files_.end()) return absl::UnavailableError(absl::StrCat(path, ": not captured"));
  return it->second;
}

absl::StatusOr<std::vector<std::string>> FakeHost::Glob(absl::string_view pattern,
                                                        host::View view) const {
  const std::string glob(pattern);
  const std::string parent = KnownParent(pattern);
  bool parent_known = false;
  std::set<std::string> found;
  for (const auto& [key, content] : files_) {
    if (key.first != view) continue;
    parent_known = parent_known || absl::StartsWith(key.second, parent);
    if (!content.ok()) continue;
    // A file makes its directories known too.
    for (std::string path = key.second; path.size() > 1; path.resize(path.rfind('/'))) {
      if (fnmatch(glob.c_str(), path.c_str(), FNM_PATHNAME) == 0) found.insert(path);
      if (path.rfind('/') == 0) break;
    }
  }
  if (!found.empty()) return std::vector<std::string>(found.begin(), found.end());
  if (parent_known) return absl::NotFoundError(absl::StrCat(pattern, ": nothing matches"));
  return absl::UnavailableError(absl::StrCat(pattern, ": not captured"));
}

absl::StatusOr<std::map<std::string, std::string>> FakeHost::JobEnvironment() const {
  return environment_;
}

FakeHost::Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

FakeHost& FakeHost::AddLog(absl::string_view name, absl::string_view content,
                           absl::string_view node) {
  if (directory_ == nullptr) {
    std::string pattern = (std::filesystem::temp_directory_path() / "galen-logs-XXXXXX").string();
    directory_ = std::make_shared<Directory>();
    if (mkdtemp(pattern.data()) != nullptr) directory_->path = pattern;
  }
  host::JobLog log;
  log.name = std::string(name);
  log.path = absl::StrCat(directory_->path, "/", logs_.size(), ".log");
  log.node = std::string(node);
  log.kind = "job";
  std::ofstream(log.path, std::ios::binary) << std::string(content);
  return AddLogFile(std::move(log));
}

FakeHost& FakeHost::AddLogFile(host::JobLog log) {
  logs_.push_back(std::move(log));
  return *this;
}

absl::StatusOr<std::vector<host::JobLog>> FakeHost::JobLogs() const {
  if (logs_.empty()) return absl::UnavailableError("no log of the job was captured");
  return logs_;
}

std::vector<std::vector<std::string>> FakeHost::Captured(absl::Span<const std::string> prefix,
                                                         host::View view) const {
  if (live_) return {};
  std::vector<std::vector<std::string>> found;
  for (const auto& [key, result] : commands_) {
    if (key.first != view) continue;
    // A run that did not end was captured, too.
    if (!result.ok() && !absl::IsDeadlineExceeded(result.status())) continue;
    std::vector<std::string> argv = absl::StrSplit(key.second, ' ');
    if (argv.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), argv.begin())) {
      found.push_back(std::move(argv));
    }
  }
  return found;
}

}  // namespace galen::testing
