#include "services/node/checks/system/process_load.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/job_processes.h"
#include "services/node/checks/system/listings.h"

namespace galen::node {
namespace {

// Processors of the machine: "cpu0", "cpu1", ... of /proc/stat; 0: not known.
int Processors(const host::Host& host) {
  const auto stat = host.ReadFile("/proc/stat");
  if (!stat.ok()) return 0;
  return static_cast<int>(absl::c_count_if(Lines(*stat), [](absl::string_view line) {
    return absl::ConsumePrefix(&line, "cpu") && LeadingInt(line).has_value() && line[0] != ' ';
  }));
}

std::optional<std::int64_t> ThreadsOf(const host::Host& host, std::int64_t pid, host::View view) {
  const auto status = host.ReadFile(absl::StrCat("/proc/", pid, "/status"), view);
  if (!status.ok()) return std::nullopt;
  for (absl::string_view line : Lines(*status)) {
    if (absl::ConsumePrefix(&line, "Threads:")) return LeadingInt(line);
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckProcessLoad(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "system.process_load"));
  GALEN_ASSIGN_OR_RETURN(
      const std::string text,
      Output(host, {"ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"}));
  const std::vector<ListedProcess> processes = ParseProcesses(text);
  const JobProcesses job = FindJobProcesses(context);
  const auto own = WithRelatives(processes, job.pids, data.Texts("session_hosts"));
  const std::vector<std::string> agents = data.Texts("agents");
  CheckOutput output;
  std::vector<std::string> remarks;
  double foreign = 0;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  // The process that reads the machine is on it too.
  const auto is_probe = [&](const ListedProcess& process) {
    return process.name == "ps" || process.name == "galen" || process.name == "galen-node";
  };
  std::vector<const ListedProcess*> busy;
  for (const ListedProcess& process : processes) {
    if (process.pid == 2 || process.parent == 2 || is_probe(process)) continue;
    const bool agent = absl::c_any_of(agents, [&](const std::string& name) {
      // ps cuts names at 15 characters.
      return process.name == absl::string_view(name).substr(0, 15);
    });
    if (agent) {
      add(FloatFinding("agent_cpu_pct", node, absl::StrCat("process:", process.name),
                       process.cpu_pct));
    }
    if (own.contains(process.pid)) continue;
    foreign += process.cpu_pct;
    busy.push_back(&process);
  }
  const int processors = Processors(host);
  const bool known = processors > 0 && !job.pids.empty();
  add(known ? FloatFinding("foreign_cpu_pct", node, "", foreign / processors)
            : UnknownFinding("foreign_cpu_pct", node, ""));
  std::optional<std::int64_t> threads;
  for (const std::int64_t pid : job.pids) {
    if (const auto count = ThreadsOf(host, pid, job.view)) threads = threads.value_or(0) + *count;
  }
  add(threads.has_value() ? IntFinding("threads_of_job", node, "", *threads)
                          : UnknownFinding("threads_of_job", node, ""));
  absl::c_sort(busy, [](const ListedProcess* a, const ListedProcess* b) {
    return a->cpu_pct != b->cpu_pct ? a->cpu_pct > b->cpu_pct : a->pid < b->pid;
  });
  for (const ListedProcess* process : busy) {
    if (remarks.size() == 3 || process->cpu_pct < 1) break;
    remarks.push_back(absl::StrCat(process->name, " of ", process->user, " takes ",
                                   process->cpu_pct, " % of a core"));
  }
  output.message =
      absl::StrCat(known ? absl::StrCat("processes outside the job take ", foreign / 100, " of ",
                                        processors, " cores")
                         : std::string("which processes are the job's is not known"),
                   remarks.empty() ? "" : absl::StrCat("; ", absl::StrJoin(remarks, ", ")));
  return output;
}

}  // namespace galen::node
