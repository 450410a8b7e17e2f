#include "services/cli/triage/logs_of.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"

namespace galen::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 6;

bool IsLog(const fs::path& path) {
  const std::string lower = absl::AsciiStrToLower(path.filename().string());
  absl::string_view name = lower;
  for (const char* packed : {".gz", ".zst"}) absl::ConsumeSuffix(&name, packed);
  static constexpr std::array<absl::string_view, 4> kEndings = {".log", ".out", ".err", ".txt"};
  static constexpr std::array<absl::string_view, 3> kNames = {"log", "stdout", "stderr"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kEndings.begin(), kEndings.end(),
                     [&](absl::string_view ending) { return absl::EndsWith(name, ending); });
}

bool IsOfOthers(const fs::path& path) {
  static constexpr std::array<absl::string_view, 7> kNames = {
      "prometheus", "tensorboard", "wandb", "xla_dump", "checkpoints", "traces", "plugins"};
  const std::string name = path.filename().string();
  return absl::StartsWith(name, ".") ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

absl::StatusOr<std::vector<std::string>> LogsIn(const fs::path& directory) {
  std::vector<std::string> logs;
  std::error_code error;
  fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored) && (IsOfOthers(it->path()) || it.depth() >= kMostDepth)) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored) && IsLog(it->path()) && logs.size() <= kMostLogs) {
      logs.push_back(it->path().string());
    }
  }
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat(directory.string(), ": cannot be read: ", error.message()));
  }
  std::sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) {
    return strverscmp(a.c_str(), b.c_str()) < 0;  // rank-2 before rank-10
  });
  // The log of the whole job, if it is next to the directory.
  fs::path beside = directory;
  if (beside.filename().empty()) beside = beside.parent_path();
  beside += ".log";
  std::error_code ignored;
  if (fs::is_regular_file(beside, ignored)) logs.insert(logs.begin(), beside.string());
  if (logs.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory.string(),
                     ": holds no log (*.log, *.out, *.err, *.txt); name the files of the job"));
  }
  return logs;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LogsOf(const std::vector<std::string>& paths) {
  std::vector<std::string> logs;
  std::set<std::string> seen;
  const auto add = [&](const std::string& path) {
    // A symbolic link to a log that is there too is that log.
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (seen.insert(error ? path : real.string()).second) logs.push_back(path);
  };
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (error || !fs::exists(status)) {
      return absl::NotFoundError(absl::StrCat(path, ": is not there; name a log or a directory"));
    }
    if (!fs::is_directory(status)) {
      add(path);
      continue;
    }
    GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> found, LogsIn(path));
    for (const std::string& log : found) add(log);
  }
  // Half of a job's logs would describe another job.
  if (logs.size() > kMostLogs) {
    return absl::ResourceExhaustedError(
        absl::StrCat(paths.front(), paths.size() > 1 ? " and others" : "", ": more than ",
                     kMostLogs, " logs; name those of fewer ranks"));
  }
  return logs;
}

}  // namespace galen::cli
