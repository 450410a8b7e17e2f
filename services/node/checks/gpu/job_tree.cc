#include "services/node/checks/gpu/job_tree.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {
namespace {

// The kernel keeps as much of a program's name.
constexpr std::size_t kNameLength = 15;
// The listing is not of one instant and may hold a circle: no line is this long.
constexpr std::size_t kLongestLine = 64;
constexpr std::size_t kNameColumn = 8;

std::set<std::int64_t> KnownProcesses(const host::Host& host) {
  std::set<std::int64_t> pids;
  if (host.live()) {
    // This file is the host's entry of the job's process, so its number is the host's.
    const auto status = host.ReadFile("/proc/self/status", host::View::kJob);
    if (!status.ok()) return pids;
    for (absl::string_view line : absl::StrSplit(*status, '\n')) {
      if (!absl::ConsumePrefix(&line, "Pid:")) continue;
      if (const auto pid = LeadingInteger(line); pid.has_value()) pids.insert(*pid);
    }
    return pids;
  }
  if (!host.JobEnvironment().ok()) return pids;
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

}  // namespace

JobTree::JobTree(absl::string_view ps, std::set<std::int64_t> job,
                 const std::vector<std::string>& hosts)
    : job_(std::move(job)) {
  for (const absl::string_view line : absl::StrSplit(ps, '\n')) {
    const std::vector<absl::string_view> columns =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    std::int64_t pid = 0;
    Process process;
    if (columns.size() <= kNameColumn || !absl::SimpleAtoi(columns[0], &pid) ||
        !absl::SimpleAtoi(columns[1], &process.parent)) {
      continue;
    }
    process.name = std::string(columns[kNameColumn]);
    all_.insert_or_assign(pid, std::move(process));
  }
  for (const std::int64_t pid : job_) {
    const std::vector<std::int64_t> line = Line(pid);
    if (line.empty()) continue;
    tops_.insert(line.back());
    const auto starts_one_job = [&](std::int64_t above) {
      const std::string& name = all_.at(above).name;
      return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return name == absl::string_view(host).substr(0, kNameLength);
      });
    };
    const auto nearest = std::find_if(line.begin() + 1, line.end(), starts_one_job);
    if (nearest != line.end()) hosts_.insert(*nearest);
  }
}

std::vector<std::int64_t> JobTree::Line(std::int64_t pid) const {
  std::vector<std::int64_t> line;
  while (pid > 1) {
    const auto process = all_.find(pid);
    if (process == all_.end() || line.size() == kLongestLine) return {};
    line.push_back(pid);
    pid = process->second.parent;
  }
  return line;
}

std::optional<bool> JobTree::Holds(std::int64_t pid) const {
  if (job_.contains(pid)) return true;
  const std::vector<std::int64_t> line = Line(pid);
  if (line.empty()) return std::nullopt;
  for (const std::int64_t above : line) {
    if (job_.contains(above)) return true;
    if (above != pid && hosts_.contains(above)) return true;
  }
  if (tops_.empty() || tops_.contains(line.back())) return std::nullopt;
  return false;
}

JobTree ReadJobTree(const CheckContext& context) {
  const auto ps = context.host.Run(std::vector<std::string>{
      "ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"});
  std::vector<std::string> hosts;
  if (const auto data = CheckData::Of(context.knowledge, "system.process_load"); data.ok()) {
    hosts = data->Texts("job_hosts");
  }
  return JobTree(ps.ok() && ps->exit_code == 0 ? absl::string_view(ps->out) : absl::string_view(),
                 KnownProcesses(context.host), hosts);
}

}  // namespace galen::node
