#include "common/host/live_host.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/steady.h"
#include "common/base/text.h"
#include "common/host/commands.h"
#include "common/host/live_files.h"
#include "common/host/process.h"

namespace galen::host {
namespace {

// Directories of the tools of the field, for users and services whose PATH lacks them.
constexpr absl::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin";

std::string HostName() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string DefaultSearchPath() {
  std::vector<std::string> directories;
  std::set<std::string> seen;
  const std::string all = absl::StrCat(Variable("PATH"), ":", kSystemPath);
  for (const absl::string_view directory : absl::StrSplit(all, ':', absl::SkipEmpty())) {
    // With a relative directory, the working directory of galen would choose the program.
    if (!absl::StartsWith(directory, "/")) continue;
    if (seen.insert(std::string(directory)).second) directories.emplace_back(directory);
  }
  return absl::StrJoin(directories, ":");
}

StuckReads::Kind KindOf(View view) {
  return view == View::kJob ? StuckReads::Kind::kJob : StuckReads::Kind::kMachine;
}

absl::Status CheckAbsolute(absl::string_view path) {
  if (absl::StartsWith(path, "/") && !absl::StrContains(path, '\0')) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", CleanText(path, 256), "\": is not an absolute path"));
}

// The files that process `pid` of machine `node` writes its output and its errors to.
absl::StatusOr<std::vector<JobLog>> LogsOfProcess(pid_t pid, const std::string& node) {
  std::vector<JobLog> logs;
  const std::string process = absl::StrCat("/proc/", pid);
  bool hidden = false;
  for (const int descriptor : {1, 2}) {
    // Opened through /proc, so that it is found regardless of the job's mounts.
    const std::string path = absl::StrCat(process, "/fd/", descriptor);
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      hidden = hidden || error == std::errc::permission_denied ||
               error == std::errc::operation_not_permitted;
      continue;
    }
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error || (!logs.empty() && logs.front().name == target.string())) continue;
    JobLog log;
    log.name = target.string();
    log.path = path;
    log.node = node;
    log.kind = "job";
    logs.push_back(std::move(log));
  }
  if (!logs.empty()) return logs;
  const std::string who = absl::StrCat("the job's process ", pid, " on ", node);
  if (hidden) {
    return absl::PermissionDeniedError(
        absl::StrCat("what ", who, " writes to may not be seen by this user"));
  }
  std::error_code error;
  if (!std::filesystem::exists(process, error)) {
    return absl::UnavailableError(absl::StrCat(who, " is gone"));
  }
  return absl::UnavailableError(absl::StrCat(who, " writes to no file"));
}

}  // namespace

LiveHost::LiveHost(Options options) : options_(std::move(options)) {
  if (options_.name.empty()) options_.name = HostName();
  if (options_.search_path.empty()) options_.search_path = DefaultSearchPath();
  if (options_.stuck_reads == nullptr) {
    options_.stuck_reads = std::make_shared<StuckReads>(options_.max_stuck_reads);
  }
  const std::string home = Variable("HOME");
  environment_ = {
      absl::StrCat("PATH=", options_.search_path), "LC_ALL=C",
      absl::StrCat("HOME=", home.empty() ? "/" : home),
      // By default CUDA lists the fastest GPU first, so its GPU 0 may differ from nvidia-smi's.
      "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
}

absl::StatusOr<CommandResult> LiveHost::Run(absl::Span<const std::string> argv, View view) const {
  if (view == View::kJob) {
    return absl::UnavailableError(absl::StrCat(
        "\"", ShownCommand(argv), "\": commands are not run inside the job on ", options_.name));
  }
  std::vector<std::string> key(argv.begin(), argv.end());
  std::shared_ptr<Capture> capture;
  {
    const MutexLock lock(mu_);
    const auto [found, first] = captures_.try_emplace(key, nullptr);
    if (!first) {
      capture = found->second;
      while (!capture->result.has_value()) mu_.Wait(finished_);
      return *capture->result;
    }
    capture = found->second = std::make_shared<Capture>();
  }
  const Cancellation& cancelled =
      options_.cancelled == nullptr ? Cancellation::Never() : *options_.cancelled;
  absl::StatusOr<CommandResult> result = RunInTime(argv, cancelled);
  const MutexLock lock(mu_);
  capture->result = result;
  finished_.notify_all();
  return result;
}

absl::StatusOr<CommandResult> LiveHost::RunInTime(absl::Span<const std::string> argv,
                                                  const Cancellation& cancelled) const {
  ProcessLimits limits = options_.command;
  const absl::Duration left = options_.commands_by - SteadyNow();
  if (left >= limits.time) return RunHere(argv, limits, cancelled, nullptr);
  limits.time = left;
  absl::StatusOr<CommandResult> result = absl::DeadlineExceededError("");
  if (left > absl::ZeroDuration()) result = RunHere(argv, limits, cancelled, nullptr);
  if (!absl::IsDeadlineExceeded(result.status())) return result;
  // It had less time than a command may take, so it is unknown whether it hangs.
  return absl::CancelledError(absl::StrCat("\"", ShownCommand(argv),
                                           "\" was not finished when the time for commands on ",
                                           options_.name, " was over"));
}

absl::StatusOr<CommandResult> LiveHost::RunWithin(absl::Span<const std::string> argv,
                                                  const ProcessLimits& limits,
                                                  const Cancellation& cancelled,
                                                  const OutputSink& on_output) const {
  return RunHere(argv, limits, cancelled, on_output);
}

absl::StatusOr<CommandResult> LiveHost::RunHere(absl::Span<const std::string> argv,
                                                const ProcessLimits& limits,
                                                const Cancellation& cancelled,
                                                const OutputSink& on_output) const {
  // A directory of the search path may be on a file system that does not answer.
  const ProgramFinder find = [&](const std::string& name) -> absl::StatusOr<std::string> {
    if (absl::StrContains(name, '/')) return name;
    return WithWatchdog<std::string>(
        StuckReads::Kind::kProgram, absl::StrCat("the search for ", name),
        [name, path = options_.search_path] { return FindProgram(name, path); });
  };
  absl::StatusOr<CommandResult> result =
      RunProcess(argv, find, environment_, limits, cancelled, on_output);
  const std::string here = absl::StrCat(" on ", options_.name);
  if (result.ok() || absl::EndsWith(result.status().message(), here)) return result;
  return absl::Status(result.status().code(), absl::StrCat(result.status().message(), here));
}

template <typename T>
absl::StatusOr<T> LiveHost::WithWatchdog(StuckReads::Kind kind, absl::string_view what,
                                         std::function<absl::StatusOr<T>()> work) const {
  const std::shared_ptr<StuckReads> stuck = options_.stuck_reads;
  // For files, another job counts as another machine.
  const std::string key = absl::StrCat(
      kind == StuckReads::Kind::kJob ? absl::StrCat(*options_.job_pid, ":") : "", what);
  if (stuck->Holds(kind, key)) {
    return absl::DeadlineExceededError(absl::StrCat(
        CleanText(what, 256), " has not answered since an earlier read on ", options_.name));
  }
  if (stuck->IsFull(kind)) {
    return absl::ResourceExhaustedError(absl::StrCat(CleanText(what, 256), ": not read, as ",
                                                     stuck->most(), " earlier reads on ",
                                                     options_.name, " are stuck"));
  }
  // State of the thread, which may outlive this call and this object.
  struct Shared {
    std::promise<absl::StatusOr<T>> promise;
    std::atomic<int> owner{0};  // the second to arrive corrects the count of stuck reads
  };
  const auto shared = std::make_shared<Shared>();
  std::future<absl::StatusOr<T>> future = shared->promise.get_future();
  try {
    std::thread([shared, stuck, kind, key, work = std::move(work)] {
      shared->promise.set_value(work());
      if (shared->owner.fetch_add(1) == 1) stuck->Remove(kind, key);
    }).detach();
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(CleanText(what, 256), ": no room for another thread"));
  }
  if (future.wait_for(absl::ToChronoNanoseconds(options_.read_time)) == std::future_status::ready) {
    return future.get();
  }
  stuck->Add(kind, key);
  if (shared->owner.fetch_add(1) == 1) stuck->Remove(kind, key);
  return absl::DeadlineExceededError(absl::StrCat(CleanText(what, 256), " did not answer within ",
                                                  absl::FormatDuration(options_.read_time), " on ",
                                                  options_.name));
}

absl::StatusOr<std::string> LiveHost::ReadFile(absl::string_view path, View view) const {
  GALEN_RETURN_IF_ERROR(CheckAbsolute(path));
  const std::size_t limit = options_.read_bytes;
  if (view == View::kHost) {
    return WithWatchdog<std::string>(
        StuckReads::Kind::kMachine, path,
        [path = std::string(path), limit] { return ReadLiveFile(path, limit); });
  }
  if (!options_.job_pid.has_value()) {
    return absl::UnavailableError(
        absl::StrCat(CleanText(path, 256), ": no process of the job is known on ", options_.name));
  }
  return WithWatchdog<std::string>(StuckReads::Kind::kJob, path,
                                   [path = std::string(path), limit, pid = *options_.job_pid] {
                                     return ReadJobFile(pid, path, limit);
                                   });
}

absl::StatusOr<std::vector<std::string>> LiveHost::Glob(absl::string_view pattern,
                                                        View view) const {
  GALEN_RETURN_IF_ERROR(CheckAbsolute(pattern));
  if (view == View::kHost) {
    return WithWatchdog<std::vector<std::string>>(
        StuckReads::Kind::kMachine, pattern,
        [pattern = std::string(pattern)] { return GlobLive("", pattern); });
  }
  if (!options_.job_pid.has_value()) {
    return absl::UnavailableError(absl::StrCat(
        CleanText(pattern, 256), ": no process of the job is known on ", options_.name));
  }
  return WithWatchdog<std::vector<std::string>>(
      StuckReads::Kind::kJob, pattern,
      [pattern = std::string(pattern), pid = *options_.job_pid] { return GlobJob(pid, pattern); });
}

absl::StatusOr<Space> LiveHost::SpaceAt(absl::string_view target, View view) const {
  GALEN_RETURN_IF_ERROR(CheckAbsolute(target));
  if (view == View::kJob && !options_.job_pid.has_value()) {
    return absl::UnavailableError(absl::StrCat(
        CleanText(target, 256), ": no process of the job is known on ", options_.name));
  }
  // View of the job: in its mount namespace, below its root.
  const pid_t pid = view == View::kJob ? *options_.job_pid : 0;
  GALEN_ASSIGN_OR_RETURN(const std::string mounts, ReadFile("/proc/self/mounts", view));
  std::string type;
  for (const absl::string_view line : absl::StrSplit(mounts, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    // The last one mounted there hides the others.
    if (words.size() >= 3 && words[1] == target) type = std::string(words[2]);
  }
  if (type.empty()) {
    return absl::NotFoundError(
        absl::StrCat("nothing is mounted at ", CleanText(target, 256), " on ", options_.name));
  }
  return WithWatchdog<Space>(KindOf(view), target, [target = std::string(target), type, pid] {
    return SpaceOfMount(pid, target, type);
  });
}

absl::StatusOr<std::map<std::string, std::string>> LiveHost::JobEnvironment() const {
  if (!options_.job_pid.has_value()) {
    return absl::UnavailableError(
        absl::StrCat("no process of the job is known on ", options_.name));
  }
  GALEN_ASSIGN_OR_RETURN(
      const std::string text,
      ReadFile(absl::StrCat("/proc/", *options_.job_pid, "/environ"), View::kHost));
  std::map<std::string, std::string> variables;
  for (const absl::string_view entry : absl::StrSplit(text, '\0', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> variable =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    variables.emplace(variable.first, variable.second);
  }
  return variables;
}

absl::StatusOr<std::vector<JobLog>> LiveHost::JobLogs() const {
  if (!options_.logs.empty()) return options_.logs;
  if (!options_.job_pid.has_value()) {
    return absl::UnavailableError(
        absl::StrCat("no process of the job is known on ", options_.name));
  }
  return WithWatchdog<std::vector<JobLog>>(
      StuckReads::Kind::kJob,
      absl::StrCat("what the job's process ", *options_.job_pid, " writes to"),
      [pid = *options_.job_pid, node = options_.name] { return LogsOfProcess(pid, node); });
}

}  // namespace galen::host
