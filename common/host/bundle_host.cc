#include "common/host/bundle_host.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace galen::host {
namespace {

constexpr std::size_t kMaxOutput = std::size_t{8} << 20;
constexpr std::size_t kMaxMatches = 100'000;

// Makes an absolute path relative, without empty parts. INVALID_ARGUMENT: it has "..", or is not
// absolute.
absl::StatusOr<std::string> BelowRoot(absl::string_view path) {
  if (!absl::StartsWith(path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", CleanText(path, 256), "\": is not an absolute path"));
  }
  const std::string relative = absl::StrJoin(absl::StrSplit(path, '/', absl::SkipEmpty()), "/");
  if (relative.empty()) return relative;
  GALEN_RETURN_IF_ERROR(CheckRelative(relative));
  return relative;
}

absl::string_view KindWord(v1::LogSource::Kind kind) {
  switch (kind) {
    case v1::LogSource::JOB:
      return "job";
    case v1::LogSource::SYSTEM:
      return "system";
    case v1::LogSource::SCHEDULER:
      return "scheduler";
    default:
      return "";
  }
}

bool HasWildcard(absl::string_view part) {
  return absl::StrContains(part, '*') || absl::StrContains(part, '?') ||
         absl::StrContains(part, '[');
}

}  // namespace

BundleHost::BundleHost(std::string name, const BundleFiles& files, const CapturedNode& captured,
                       std::shared_ptr<const Bundle> bundle)
    : name_(std::move(name)), files_(files), captured_(captured), bundle_(std::move(bundle)) {
  // If two entries have the same argv, the first one counts.
  for (const CapturedCommand& command : captured_.host.commands) {
    host_commands_.emplace(command.argv, &command);
  }
  for (const CapturedCommand& command : captured_.job.commands) {
    job_commands_.emplace(command.argv, &command);
  }
}

const CapturedView& BundleHost::Capture(View view) const {
  return view == View::kJob ? captured_.job : captured_.host;
}

std::string BundleHost::Directory(View view) const {
  return absl::StrCat("nodes/", name_, view == View::kJob ? "/job" : "");
}

absl::Status BundleHost::CheckView(View view) const {
  if (Capture(view).captured) return absl::OkStatus();
  return absl::UnavailableError(view == View::kJob
                                    ? absl::StrCat("the job on ", name_, " was not captured")
                                    : absl::StrCat(name_, " was not captured"));
}

absl::StatusOr<std::string> BundleHost::ReadOutput(const std::string& file, View view,
                                                   bool* truncated) const {
  if (file.empty()) return std::string();
  const std::string path = absl::StrCat(Directory(view), "/", file);
  bool cut = false;
  absl::StatusOr<std::string> text = files_.Read(path, kMaxOutput, &cut);
  if (absl::IsNotFound(text.status())) {
    return absl::DataLossError(absl::StrCat(
        path, ": is missing from the bundle although ", Directory(view),
        "/commands.yaml names it; put the file back, or take its entry out of commands.yaml"));
  }
  *truncated = *truncated || cut;
  return text;
}

absl::StatusOr<CommandResult> BundleHost::Run(absl::Span<const std::string> argv, View view) const {
  if (argv.empty()) return absl::InvalidArgumentError("argv is empty");
  GALEN_RETURN_IF_ERROR(CheckView(view));
  const Index& commands = view == View::kJob ? job_commands_ : host_commands_;
  const auto found = commands.find(std::vector<std::string>(argv.begin(), argv.end()));
  const absl::string_view where = view == View::kJob ? "in the job on " : "on ";
  if (found == commands.end()) {
    return absl::UnavailableError(
        absl::StrCat("\"", ShownCommand(argv), "\" was not captured ", where, name_));
  }
  const CapturedCommand& command = *found->second;
  if (command.absent) {
    return absl::NotFoundError(absl::StrCat(CleanText(argv.front(), 128), " is not installed ",
                                            where, name_, " (captured as absent)"));
  }
  if (command.timed_out) {
    return absl::DeadlineExceededError(
        absl::StrCat("\"", ShownCommand(argv), "\" did not answer within ",
                     absl::FormatDuration(command.duration), " ", where, name_));
  }
  CommandResult result;
  result.exit_code = command.exit_code;
  result.duration = command.duration;
  result.excerpt = command.excerpt;
  GALEN_ASSIGN_OR_RETURN(result.out, ReadOutput(command.stdout_file, view, &result.truncated));
  GALEN_ASSIGN_OR_RETURN(result.err, ReadOutput(command.stderr_file, view, &result.truncated));
  return result;
}

bool BundleHost::IsAbsent(absl::string_view path, View view) const {
  // A path below an absent one is absent too.
  const std::vector<std::string>& absent = Capture(view).absent_paths;
  for (std::size_t end = path.size(); end != absl::string_view::npos && end > 0;
       end = path.rfind('/', end - 1)) {
    if (std::binary_search(absent.begin(), absent.end(), path.substr(0, end))) return true;
  }
  return false;
}

absl::StatusOr<std::string> BundleHost::ReadFile(absl::string_view path, View view) const {
  GALEN_RETURN_IF_ERROR(CheckView(view));
  GALEN_ASSIGN_OR_RETURN(const std::string relative, BelowRoot(path));
  absl::StatusOr<std::string> text =
      files_.Read(absl::StrCat(Directory(view), "/rootfs/", relative), kFileBytes);
  if (!absl::IsNotFound(text.status())) return text;
  const absl::string_view where = view == View::kJob ? " in the job on " : " on ";
  if (IsAbsent(absl::StrCat("/", relative), view)) {
    return absl::NotFoundError(absl::StrCat(CleanText(path, 256), " does not exist", where, name_,
                                            " (captured as absent)"));
  }
  return absl::UnavailableError(
      absl::StrCat(CleanText(path, 256), " was not captured", where, name_));
}

absl::StatusOr<std::vector<std::string>> BundleHost::Glob(absl::string_view pattern,
                                                          View view) const {
  GALEN_RETURN_IF_ERROR(CheckView(view));
  GALEN_ASSIGN_OR_RETURN(const std::string relative, BelowRoot(pattern));
  const std::string root = absl::StrCat(Directory(view), "/rootfs");
  std::vector<std::string> matches = {""};
  bool unknown = false;
  const std::vector<std::string> parts = absl::StrSplit(relative, '/', absl::SkipEmpty());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    // Up to the next wildcard the pattern is one path, any part of which may be known as absent.
    const auto wildcard = std::find_if(parts.begin() + static_cast<std::ptrdiff_t>(i), parts.end(),
                                       [](const std::string& each) { return HasWildcard(each); });
    const std::string literal =
        absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(i), wildcard, "/");
    std::vector<std::string> next;
    for (const std::string& parent : matches) {
      if (!HasWildcard(part)) {
        const std::string path = absl::StrCat(parent, "/", part);
        if (files_.Resolve(absl::StrCat(root, path)).ok()) {
          next.push_back(path);
        } else {
          unknown = unknown || !IsAbsent(absl::StrCat(parent, "/", literal), view);
        }
        continue;
      }
      // The listing of a captured directory is complete: other names are known as absent.
      const absl::StatusOr<std::vector<std::string>> names =
          files_.List(absl::StrCat(root, parent));
      unknown = unknown || !names.ok();
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        if (parent.empty() && name == ".absent") continue;
        if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
        const std::string path = absl::StrCat(parent, "/", name);
        // A link that leads out of the bundle counts as not captured.
        if (files_.Resolve(absl::StrCat(root, path)).ok()) next.push_back(path);
      }
      if (next.size() > kMaxMatches) {
        return absl::ResourceExhaustedError(
            absl::StrCat(CleanText(pattern, 256), ": matches more than ", kMaxMatches, " files"));
      }
    }
    matches = std::move(next);
  }
  if (!matches.empty()) {
    std::sort(matches.begin(), matches.end());
    return matches;
  }
  const absl::string_view where = view == View::kJob ? " in the job on " : " on ";
  if (unknown) {
    return absl::UnavailableError(
        absl::StrCat(CleanText(pattern, 256), " was not captured", where, name_));
  }
  return absl::NotFoundError(
      absl::StrCat(CleanText(pattern, 256), ": there is no such file", where, name_));
}

absl::StatusOr<std::map<std::string, std::string>> BundleHost::JobEnvironment() const {
  if (!captured_.environment.has_value()) {
    return absl::UnavailableError(
        absl::StrCat("the environment of the job on ", name_, " was not captured"));
  }
  return *captured_.environment;
}

absl::StatusOr<std::vector<JobLog>> BundleHost::JobLogs() const {
  std::vector<JobLog> found;
  for (const v1::LogSource& source : bundle_->incident().logs()) {
    if (source.kind() == v1::LogSource::TOOL) continue;
    absl::StatusOr<std::string> path = bundle_->LogPath(source.path());
    // The bundle's remarks mention a log that is in incident.yaml but missing in the bundle.
    if (!path.ok()) continue;
    JobLog log;
    log.name = source.path();
    log.path = *std::move(path);
    log.node = source.node();
    if (source.has_rank()) log.rank = source.rank();
    log.kind = std::string(KindWord(source.kind()));
    found.push_back(std::move(log));
  }
  if (found.empty()) return absl::UnavailableError("the bundle holds no log");
  return found;
}

std::vector<std::vector<std::string>> BundleHost::Captured(absl::Span<const std::string> prefix,
                                                           View view) const {
  std::vector<std::vector<std::string>> found;
  for (const auto& [argv, command] : view == View::kJob ? job_commands_ : host_commands_) {
    if (command->absent || argv.size() < prefix.size()) continue;
    if (std::equal(prefix.begin(), prefix.end(), argv.begin())) found.push_back(argv);
  }
  return found;
}

}  // namespace galen::host
