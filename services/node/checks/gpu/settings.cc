#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/gpu/checks.h"
#include "services/node/checks/gpu/gpu_findings.h"
#include "services/node/checks/gpu/gpu_query.h"
#include "services/node/checks/gpu/kernel_lines.h"
#include "services/node/checks/job_process_tree.h"

namespace galen::node {
namespace {

std::optional<bool> MigPending(const GpuMig& mig) {
  if (mig.current.empty() || mig.pending.empty()) return std::nullopt;
  return mig.current != mig.pending;
}

bool OnlyDraws(const GpuProcess& process) { return process.type == "G"; }

// The program of a command line, without its path.
absl::string_view ProgramOf(absl::string_view command) {
  const absl::string_view path = command.substr(0, command.find(' '));
  return path.substr(path.rfind('/') + 1);
}

bool IsDaemon(const GpuProcess& process, const std::vector<std::string>& daemons) {
  return std::find(daemons.begin(), daemons.end(), ProgramOf(process.name)) != daemons.end();
}

// `job` is nullptr where the job's processes are not known.
std::optional<bool> HasForeignProcess(const Gpu& gpu, const JobProcessTree* job,
                                      const std::vector<std::string>& daemons) {
  if (!gpu.processes.has_value()) return std::nullopt;
  bool sure = true;
  for (const GpuProcess& process : *gpu.processes) {
    if (OnlyDraws(process) || IsDaemon(process, daemons)) continue;
    const std::optional<bool> of_job = job == nullptr ? std::nullopt : job->Holds(process.pid);
    if (of_job.has_value() && !*of_job) return true;
    sure = sure && of_job.has_value();
  }
  return sure ? std::optional<bool>(false) : std::nullopt;
}

// By the machine's own table; holds nothing for sure where the job is not known.
JobProcessTree ReadJobProcessTree(const CheckContext& context) {
  const host::Host& host = context.host;
  const auto ps = host.Run(std::vector<std::string>{
      "ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"});
  const bool listed = ps.ok() && ps->exit_code == 0;
  const bool known = host.live() || host.JobEnvironment().ok();
  return JobProcessTree(listed ? ParseProcessTable(ps->out) : std::vector<ProcessEntry>(),
                        known ? KnownJobProcesses(host) : std::set<std::int64_t>(),
                        ProgramsOfOneJob(context.knowledge));
}

// Whether the job's numbers and those of the GPUs' processes mean the same processes. On a live
// host both are the host's; what was captured of a container has numbers of its own.
bool SameNumbers(const host::Host& host, const JobProcessTree& job, const std::vector<Gpu>& gpus) {
  if (host.live()) return true;
  for (const Gpu& gpu : gpus) {
    if (!gpu.processes.has_value()) continue;
    for (const GpuProcess& process : *gpu.processes) {
      if (job.Holds(process.pid).value_or(false)) return true;
    }
  }
  return false;
}

// Those of `daemons`, programs that keep a GPU open without computing on it, among the GPU's
// processes; "" for none.
std::string Daemons(const std::vector<GpuProcess>& processes,
                    const std::vector<std::string>& daemons) {
  std::set<std::string> names;
  for (const GpuProcess& process : processes) {
    if (IsDaemon(process, daemons)) names.emplace(ProgramOf(process.name));
  }
  return absl::StrJoin(names, ",");
}

// Processes of a GPU that hold more memory of another one, and the most that one of them holds
// here.
struct SecondContexts {
  std::optional<std::int64_t> count;
  std::optional<double> most_mib;
};

// A rank that never makes its device current opens a context on the first GPU as well.
SecondContexts SecondContextsOn(const Gpu& gpu, const std::vector<Gpu>& gpus,
                                const std::vector<std::string>& daemons) {
  SecondContexts second;
  if (!gpu.processes.has_value()) return second;
  second.count = 0;
  for (const GpuProcess& process : *gpu.processes) {
    // Without a number (0) nobody knows whether two entries are one process.
    if (!process.memory_mib.has_value() || process.pid <= 0 || OnlyDraws(process) ||
        IsDaemon(process, daemons)) {
      continue;
    }
    const bool more_elsewhere = std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& other) {
      if (other.index == gpu.index || !other.processes.has_value()) return false;
      return std::any_of(other.processes->begin(), other.processes->end(), [&](const auto& own) {
        return own.pid == process.pid && own.memory_mib.value_or(0) > *process.memory_mib;
      });
    });
    if (!more_elsewhere) continue;
    ++*second.count;
    second.most_mib = std::max(second.most_mib.value_or(0), *process.memory_mib);
  }
  return second;
}

// "python3 (3941), ray (77) and 6 more", so that people know whom to ask.
std::string Named(const std::vector<GpuProcess>& processes) {
  constexpr std::size_t kMostNamed = 2;
  std::vector<std::string> names;
  for (const GpuProcess& process : processes) {
    if (names.size() == kMostNamed) break;
    const absl::string_view program = ProgramOf(process.name);
    names.push_back(
        absl::StrCat(program.empty() ? "process" : CleanText(program, 64), " (", process.pid, ")"));
  }
  const std::size_t more = processes.size() - names.size();
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// "GPU Reset Required" and "Drain and Reset" become GPU_RESET and DRAIN_AND_RESET.
std::optional<std::string> Action(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  absl::ConsumeSuffix(&text, " Required");
  return absl::AsciiStrToUpper(absl::StrReplaceAll(text, {{" ", "_"}}));
}

}  // namespace

absl::StatusOr<CheckOutput> CheckGpuSettings(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryNvidia(context.host));
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    const std::optional<bool> pending = MigPending(gpu.mig);
    const bool mig = gpu.mig.current == "Enabled";
    findings.Text("compute_mode", subject, Known(gpu.compute_mode)).set_expected("Default");
    findings.Bool("persistence", subject, gpu.persistence).set_expected("true");
    findings.Text("mig_mode", subject, Known(gpu.mig.current));
    findings.Bool("mig_pending", subject, pending).set_expected("false");
    // Without MIG there is nothing to count.
    if (mig) findings.Int("mig_instances", subject, gpu.mig.instances);
    std::vector<std::string> told;
    if (!gpu.compute_mode.empty() && gpu.compute_mode != "Default") {
      told.push_back(absl::StrCat("compute mode ", gpu.compute_mode));
    }
    if (!gpu.persistence.value_or(true)) told.push_back("persistence mode off");
    if (mig) {
      told.push_back(gpu.mig.instances.has_value()
                         ? absl::StrCat("MIG on with ", Count(*gpu.mig.instances, "instance"))
                         : "MIG on");
    }
    if (pending.value_or(false)) {
      told.push_back(absl::StrCat("MIG mode ", gpu.mig.pending, " waits for a reset"));
    }
    if (!told.empty()) sentence.Special(gpu, absl::StrJoin(told, ", "));
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node reports its settings");
  }
  return std::move(findings).Finish(
      sentence.Tell("compute mode Default, persistence on, MIG off, as far as reported"),
      Excerpt(state, state.gpus.front(), "mig_mode"));
}

absl::StatusOr<CheckOutput> CheckGpuProcesses(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const CheckData data, CheckData::Of(context.knowledge, "gpu.processes"));
  const std::vector<std::string> programs = data.Texts("daemons");
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryGpus(context.host));
  const JobProcessTree tree = ReadJobProcessTree(context);
  const JobProcessTree* const job = SameNumbers(context.host, tree, state.gpus) ? &tree : nullptr;
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    const v1::Device subject = findings.Of(gpu);
    const std::optional<bool> foreign = HasForeignProcess(gpu, job, programs);
    std::optional<std::int64_t> count;
    std::optional<std::string> daemons;
    if (gpu.processes.has_value()) {
      count = static_cast<std::int64_t>(gpu.processes->size());
      daemons = Daemons(*gpu.processes, programs);
    }
    findings.Bool("foreign_process", subject, foreign).set_expected("false");
    findings.Float("memory_used_mib", subject, gpu.memory_used_mib);
    findings.Int("processes_per_gpu", subject, count);
    findings.Text("daemon_holds_device", subject, daemons);
    const SecondContexts second = SecondContextsOn(gpu, state.gpus, programs);
    findings.Int("second_contexts", subject, second.count);
    findings.Float("second_context_mib", subject, second.most_mib);
    if (count.value_or(0) > 0) {
      sentence.Special(
          gpu,
          absl::StrCat(*count, *count == 1 ? " process, " : " processes, ", Named(*gpu.processes),
                       foreign.value_or(false) ? ", one of them not of this job" : "",
                       second.count.value_or(0) > 0
                           ? absl::StrCat(", ", *second.count, " with more memory of another GPU")
                           : std::string(),
                       gpu.memory_used_mib.has_value()
                           ? absl::StrCat(", ", Short(*gpu.memory_used_mib), " MiB in use")
                           : std::string()));
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("no GPU of this node lists its processes");
  }
  return std::move(findings).Finish(sentence.Tell("no process"),
                                    ExcerptOfFirst(state, "processes", [&](const Gpu& gpu) {
                                      return HasForeignProcess(gpu, job, programs).value_or(false);
                                    }));
}

absl::StatusOr<CheckOutput> CheckGpuRecoveryAction(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const GpuState state, QueryNvidia(context.host));
  const auto events = ReadKernelPciEvents(context.host);
  GpuFindings findings(context);
  Sentence sentence("GPU", state.gpus.size());
  for (const Gpu& gpu : state.gpus) {
    std::optional<std::string> action = Action(gpu.recovery_action);
    // A GPU that answers nothing but this asks for it, too.
    if (!action.has_value() && gpu.requires_reset) action = "GPU_RESET";
    // "GPU is lost. Reboot the system to recover this GPU", as nvidia-smi puts it.
    if (!action.has_value() && gpu.lost) action = "NODE_REBOOT";
    if (!action.has_value() && events.ok()) {
      const auto logged = events->recovery_action.find(gpu.pci_address);
      if (logged != events->recovery_action.end()) action = Action(logged->second);
    }
    findings.Text("action", findings.Of(gpu), action).set_expected("NONE");
    if (action.has_value() && *action != "NONE") {
      sentence.Special(gpu, absl::StrCat("the driver asks for ", *action));
    }
  }
  if (!findings.any_known()) {
    return absl::FailedPreconditionError("this driver does not tell which recovery a GPU needs");
  }
  return std::move(findings).Finish(
      sentence.Tell("no recovery needed, as far as reported"),
      events.ok() ? absl::StrJoin(events->lines, "\n") : std::string());
}

}  // namespace galen::node
