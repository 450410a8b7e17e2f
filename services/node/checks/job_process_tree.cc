#include "services/node/checks/job_process_tree.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/node/checks/check_data.h"

namespace galen::node {
namespace {

// The kernel keeps as much of a program's name.
constexpr std::size_t kNameLength = 15;
// A table that is not of one instant may hold a circle: no line is this long.
constexpr std::size_t kLongestLine = 64;
constexpr std::size_t kNameColumn = 8;

}  // namespace

std::optional<ProcessEntry> ParseProcessStatus(absl::string_view status) {
  ProcessEntry process;
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (absl::ConsumePrefix(&line, "Name:")) {
      process.name = std::string(absl::StripAsciiWhitespace(line));
    } else if (absl::ConsumePrefix(&line, "Pid:")) {
      if (!absl::SimpleAtoi(line, &process.pid)) return std::nullopt;
    } else if (absl::ConsumePrefix(&line, "PPid:")) {
      if (!absl::SimpleAtoi(line, &process.parent)) return std::nullopt;
    }
  }
  if (process.pid <= 0) return std::nullopt;
  return process;
}

std::vector<ProcessEntry> ParseProcessTable(absl::string_view ps) {
  std::vector<ProcessEntry> table;
  for (const absl::string_view line : absl::StrSplit(ps, '\n')) {
    const std::vector<absl::string_view> columns =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    ProcessEntry process;
    if (columns.size() <= kNameColumn || !absl::SimpleAtoi(columns[0], &process.pid) ||
        !absl::SimpleAtoi(columns[1], &process.parent)) {
      continue;
    }
    process.name = std::string(columns[kNameColumn]);
    table.push_back(std::move(process));
  }
  return table;
}

JobProcessTree::JobProcessTree(const std::vector<ProcessEntry>& table, std::set<std::int64_t> job,
                               const std::vector<std::string>& hosts)
    : job_(std::move(job)) {
  for (const ProcessEntry& process : table) all_.insert_or_assign(process.pid, process);
  const auto starts_one_job = [&](std::int64_t pid) {
    const std::string& name = all_.at(pid).name;
    return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
      return name == absl::string_view(host).substr(0, kNameLength);
    });
  };
  for (const std::int64_t pid : job_) {
    const Line line = LineOf(pid);
    if (line.pids.empty()) continue;
    if (line.whole) tops_.insert(line.pids.back());
    const auto nearest = std::find_if(line.pids.begin() + 1, line.pids.end(), starts_one_job);
    if (nearest != line.pids.end()) hosts_.insert(*nearest);
  }
}

JobProcessTree::Line JobProcessTree::LineOf(std::int64_t pid) const {
  Line line;
  while (pid > 1) {
    const auto process = all_.find(pid);
    if (process == all_.end() || line.pids.size() == kLongestLine) {
      line.whole = false;
      break;
    }
    line.pids.push_back(pid);
    pid = process->second.parent;
  }
  return line;
}

std::optional<bool> JobProcessTree::Holds(std::int64_t pid) const {
  if (job_.contains(pid)) return true;
  const Line line = LineOf(pid);
  for (const std::int64_t above : line.pids) {
    if (job_.contains(above)) return true;
    if (above != pid && hosts_.contains(above)) return true;
  }
  const bool told = line.whole && !line.pids.empty() && !tops_.empty();
  if (!told || tops_.contains(line.pids.back())) return std::nullopt;
  return false;
}

std::vector<std::int64_t> JobProcessTree::Members() const {
  std::set<std::int64_t> members = job_;
  for (const auto& [pid, process] : all_) {
    if (Holds(pid).value_or(false)) members.insert(pid);
  }
  return {members.begin(), members.end()};
}

std::vector<std::string> ProgramsOfOneJob(const knowledge::Knowledge& knowledge) {
  const auto data = CheckData::Of(knowledge, "system.process_load");
  return data.ok() ? data->Texts("job_hosts") : std::vector<std::string>();
}

std::set<std::int64_t> KnownJobProcesses(const host::Host& host) {
  std::set<std::int64_t> pids;
  if (host.live()) {
    // This file is the host's entry of the job's process, so its number is the host's.
    const auto status = host.ReadFile("/proc/self/status", host::View::kJob);
    const auto process = status.ok() ? ParseProcessStatus(*status) : std::nullopt;
    if (process.has_value()) pids.insert(process->pid);
    return pids;
  }
  const auto paths = host.Glob("/proc/[0-9]*/status", host::View::kJob);
  if (!paths.ok()) return pids;
  for (absl::string_view path : *paths) {
    std::int64_t pid = 0;
    if (absl::ConsumePrefix(&path, "/proc/") && absl::ConsumeSuffix(&path, "/status") &&
        absl::SimpleAtoi(path, &pid)) {
      pids.insert(pid);
    }
  }
  return pids;
}

}  // namespace galen::node
