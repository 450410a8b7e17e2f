#include "services/node/checks/system/process_load.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
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

// The number beyond which the catalogue calls a finding of this check abnormal; infinite for none.
double LimitOf(const knowledge::Knowledge& knowledge, absl::string_view finding) {
  double limit = std::numeric_limits<double>::infinity();
  const auto* const check = knowledge.FindCheck("system.process_load");
  if (check == nullptr) return limit;
  for (const auto& spec : check->findings()) {
    double value = 0;
    if (spec.name() == finding && absl::SimpleAtod(spec.abnormal().value(), &value)) limit = value;
  }
  return limit;
}

// The share of one core that a process uses, in per cent.
struct Load {
  double pct = 0;
  bool now = false;  // false: an average over so long a life that it does not show the present load
};

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
  GALEN_ASSIGN_OR_RETURN(const double longest_mean, data.Number("longest_mean_s"));
  const auto top = Output(host, {"top", "-b", "-n", "2", "-d", "1", "-w", "512"});
  const auto now = top.ok() ? ParseTop(*top) : std::map<std::int64_t, double>();
  const auto load_of = [&](const ListedProcess& process) -> Load {
    const auto found = now.find(process.pid);
    if (found != now.end()) return {.pct = found->second, .now = true};
    return {
        .pct = process.cpu_pct,
        .now = process.age_s.has_value() && static_cast<double>(*process.age_s) <= longest_mean};
  };
  // A mean that is high is evidence all the same; one that is low hides what happens now.
  const double agent_limit = LimitOf(context.knowledge, "agent_cpu_pct");
  const double foreign_limit = LimitOf(context.knowledge, "foreign_cpu_pct");
  const JobProcesses job = FindJobProcesses(context);
  const auto own = WithRelatives(processes, job.pids, data.Texts("session_hosts"));
  const std::vector<std::string> agents = data.Texts("agents");
  CheckOutput output;
  std::vector<std::string> remarks;
  double foreign = 0;
  bool all_now = true;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  // The tools that read the machine are listed too, and so are the checks that run beside this one.
  const auto is_probe = [](const ListedProcess& process) {
    static constexpr absl::string_view kProbes[] = {"ps",         "top",         "galen",
                                                    "galen-node", "galen-guard", "galen-gputest"};
    return absl::c_linear_search(kProbes, process.name);
  };
  std::vector<std::pair<const ListedProcess*, Load>> busy;
  for (const ListedProcess& process : processes) {
    if (process.pid == 2 || process.parent == 2 || is_probe(process)) continue;
    const bool agent = absl::c_any_of(agents, [&](const std::string& name) {
      // ps cuts names at 15 characters.
      return process.name == absl::string_view(name).substr(0, 15);
    });
    const Load load = load_of(process);
    if (agent) {
      const std::string device = absl::StrCat("process:", process.name);
      add(load.now || load.pct > agent_limit ? FloatFinding("agent_cpu_pct", node, device, load.pct)
                                             : UnknownFinding("agent_cpu_pct", node, device));
    }
    if (own.contains(process.pid)) continue;
    foreign += load.pct;
    all_now = all_now && load.now;
    busy.emplace_back(&process, load);
  }
  const int processors = Processors(host);
  const bool job_known = processors > 0 && !job.pids.empty();
  const bool known = job_known && (all_now || foreign / processors > foreign_limit);
  add(known ? FloatFinding("foreign_cpu_pct", node, "", foreign / processors)
            : UnknownFinding("foreign_cpu_pct", node, ""));
  std::optional<std::int64_t> threads;
  for (const std::int64_t pid : job.pids) {
    if (const auto count = ThreadsOf(host, pid, job.view)) threads = threads.value_or(0) + *count;
  }
  add(threads.has_value() ? IntFinding("threads_of_job", node, "", *threads)
                          : UnknownFinding("threads_of_job", node, ""));
  absl::c_sort(busy, [](const auto& a, const auto& b) {
    return a.second.pct != b.second.pct ? a.second.pct > b.second.pct : a.first->pid < b.first->pid;
  });
  for (const auto& [process, load] : busy) {
    if (remarks.size() == 3 || load.pct < 1) break;
    remarks.push_back(absl::StrCat(process->name, " of ", process->user, " takes ", load.pct,
                                   load.now ? " % of a core" : " % of a core in the mean"));
  }
  output.message =
      absl::StrCat(known ? absl::StrCat("processes outside the job take ", foreign / 100, " of ",
                                        processors, " cores")
                   : job_known ? std::string("what processes outside the job take now is not known")
                               : std::string("which processes are the job's is not known"),
                   remarks.empty() ? "" : absl::StrCat("; ", absl::StrJoin(remarks, ", ")));
  return output;
}

}  // namespace galen::node
