#include "services/node/checks/system/job_processes.h"

#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"

namespace galen::node {
namespace {

// The kernel keeps as much of a program's name.
constexpr std::size_t kNameLength = 15;

struct Process {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::string name;
};

// Of /proc/<pid>/status.
std::optional<Process> ParseStatus(absl::string_view text) {
  Process process;
  for (absl::string_view line : Lines(text)) {
    if (absl::ConsumePrefix(&line, "Name:")) {
      process.name = std::string(absl::StripAsciiWhitespace(line));
    } else if (absl::ConsumePrefix(&line, "Pid:")) {
      process.pid = LeadingInt(line).value_or(0);
    } else if (absl::ConsumePrefix(&line, "PPid:")) {
      process.parent = LeadingInt(line).value_or(0);
    }
  }
  if (process.pid <= 0) return std::nullopt;
  return process;
}

std::vector<std::int64_t> Captured(const host::Host& host) {
  std::vector<std::int64_t> pids;
  const auto paths = host.Glob("/proc/[0-9]*/status", host::View::kJob);
  if (!paths.ok()) return pids;
  for (const std::string& path : *paths) {
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    std::int64_t pid = 0;
    if (parts.size() > 2 && absl::SimpleAtoi(parts[2], &pid)) pids.push_back(pid);
  }
  absl::c_sort(pids);
  return pids;
}

std::vector<std::int64_t> Live(const CheckContext& context) {
  const host::Host& host = context.host;
  // This file is the host's entry of the job's process, so its numbers are the host's.
  const auto own = host.ReadFile("/proc/self/status", host::View::kJob);
  const std::optional<Process> known = own.ok() ? ParseStatus(*own) : std::nullopt;
  if (!known.has_value()) return {};
  std::map<std::int64_t, Process> all = {{known->pid, *known}};
  if (const auto paths = host.Glob("/proc/[0-9]*/status"); paths.ok()) {
    for (const std::string& path : *paths) {
      if (context.cancelled.cancelled()) break;
      const auto status = host.ReadFile(path);
      if (!status.ok()) continue;  // it ended meanwhile
      if (const auto process = ParseStatus(*status); process.has_value()) {
        all.insert_or_assign(process->pid, *process);
      }
    }
  }
  std::vector<std::string> hosts;
  if (const auto data = CheckData::Of(context.knowledge, "system.process_load"); data.ok()) {
    hosts = data->Texts("job_hosts");
  }
  std::int64_t top = known->pid;
  std::int64_t place = known->pid;
  // The entries were not read at one instant and may hold a circle: no chain is this long.
  for (int depth = 0; depth < 64; ++depth) {
    const auto parent = all.find(all.at(place).parent);
    if (parent == all.end()) break;
    place = parent->first;
    if (absl::c_any_of(hosts, [&](const std::string& name) {
          return parent->second.name == absl::string_view(name).substr(0, kNameLength);
        })) {
      top = place;
      break;
    }
  }
  std::multimap<std::int64_t, std::int64_t> children;
  for (const auto& [pid, process] : all) children.emplace(process.parent, pid);
  std::set<std::int64_t> job;
  std::vector<std::int64_t> open = {top};
  while (!open.empty()) {
    const std::int64_t pid = open.back();
    open.pop_back();
    if (!job.insert(pid).second) continue;
    const auto [first, last] = children.equal_range(pid);
    for (auto child = first; child != last; ++child) open.push_back(child->second);
  }
  // What starts the job is not of it.
  if (top != known->pid) job.erase(top);
  return {job.begin(), job.end()};
}

}  // namespace

JobProcesses FindJobProcesses(const CheckContext& context) {
  if (context.host.live()) return {Live(context), host::View::kHost};
  return {Captured(context.host), host::View::kJob};
}

}  // namespace galen::node
