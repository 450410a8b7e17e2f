#include "services/node/checks/system/memory.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "services/node/checks/check_data.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/kernel_log.h"

namespace galen::node {
namespace {

constexpr double kKibPerGib = 1024.0 * 1024.0;

// The number behind a name at the beginning of a line.
std::optional<std::int64_t> Field(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : Lines(text)) {
    if (absl::ConsumePrefix(&line, name)) return LeadingInt(line);
  }
  return std::nullopt;
}

v1::Finding FloatOrUnknown(absl::string_view name, const std::string& node,
                           std::optional<double> value) {
  return value.has_value() ? FloatFinding(name, node, "", *value) : UnknownFinding(name, node, "");
}

}  // namespace

std::optional<double> PressureAvg10(absl::string_view text, absl::string_view line) {
  for (const absl::string_view candidate : Lines(text)) {
    const std::vector<absl::string_view> words = Words(candidate);
    if (words.size() < 2 || words[0] != line) continue;
    absl::string_view value = words[1];
    if (!absl::ConsumePrefix(&value, "avg10=")) return std::nullopt;
    return LeadingDouble(value);
  }
  return std::nullopt;
}

absl::StatusOr<CheckOutput> CheckMemory(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, context.host.ReadFile("/proc/meminfo"));
  CheckOutput output;
  const auto available = Field(text, "MemAvailable:");
  std::optional<double> gib;
  if (available.has_value()) gib = static_cast<double>(*available) / kKibPerGib;
  output.findings.push_back(FloatOrUnknown("available_gib", node, gib));
  std::optional<std::int64_t> kills;
  if (const auto stat = context.host.ReadFile("/proc/vmstat"); stat.ok()) {
    kills = Field(*stat, "oom_kill ");
  }
  output.findings.push_back(kills.has_value() ? IntFinding("oom_kills", node, "", *kills)
                                              : UnknownFinding("oom_kills", node, ""));
  bool global = false;
  if (const auto events = KernelEvents(context); events.ok()) {
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_OOM_KILL || !absl::StartsWith(event.code, "global"))
        continue;
      output.findings.push_back(EventFinding(
          "global_oom", node, absl::StrCat("process:", event.subject), ToLogEvent(event)));
      global = true;
    }
    if (!global) output.findings.push_back(EventFinding("global_oom", node, "", v1::LogEvent()));
  } else {
    output.findings.push_back(UnknownFinding("global_oom", node, ""));
  }
  output.message = absl::StrCat(gib.has_value() ? absl::StrCat(*gib, " GiB of memory are available")
                                                : "how much memory is available is not known",
                                global ? "; the kernel killed a process for lack of memory" : "");
  output.excerpt = text.substr(0, 512);
  return output;
}

absl::StatusOr<CheckOutput> CheckPressure(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto average = [&](const char* file, const char* line) -> std::optional<double> {
    const auto text = host.ReadFile(absl::StrCat("/proc/pressure/", file));
    if (!text.ok()) return std::nullopt;
    return PressureAvg10(*text, line);
  };
  std::optional<double> runnable;
  const auto load = FirstLine(host, "/proc/loadavg");
  const auto cpus = Output(host, {"lscpu"});
  std::optional<std::int64_t> cores;
  if (cpus.ok()) cores = Field(*cpus, "CPU(s):");
  if (load.ok() && cores.has_value() && *cores > 0) {
    // "0.52 0.58 0.59 3/1234 5678": three of 1234 tasks can run now.
    const std::vector<absl::string_view> words = Words(*load);
    if (words.size() >= 4) {
      if (const auto tasks = LeadingInt(words[3]); tasks.has_value()) {
        runnable = static_cast<double>(*tasks) / static_cast<double>(*cores);
      }
    }
  }
  if (!load.ok() && !host.ReadFile("/proc/pressure/cpu").ok()) return load.status();
  CheckOutput output;
  const auto cpu = average("cpu", "some");
  const auto memory = average("memory", "some");
  const auto io = average("io", "full");
  output.findings = {FloatOrUnknown("cpu_some_avg10", node, cpu),
                     FloatOrUnknown("memory_some_avg10", node, memory),
                     FloatOrUnknown("io_full_avg10", node, io),
                     FloatOrUnknown("runnable_per_core", node, runnable)};
  const auto shown = [](std::optional<double> value, absl::string_view unit) {
    return value.has_value() ? absl::StrCat(*value, unit) : std::string("unknown");
  };
  output.message =
      absl::StrCat("time stalled: cpu ", shown(cpu, " %"), ", memory ", shown(memory, " %"),
                   ", I/O ", shown(io, " %"), "; runnable tasks per core: ", shown(runnable, ""));
  return output;
}

absl::StatusOr<CheckOutput> CheckCpu(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, {"lscpu"}));
  CheckOutput output;
  const auto nodes = Field(text, "NUMA node(s):");
  // Each socket of a machine has memory of its own; fewer nodes than sockets is memory interleaved
  // by the firmware. How many a socket should be split into is the vendor's to say, and what a
  // guest sees is its hypervisor's choice.
  const auto sockets = Field(text, "Socket(s):");
  const bool interleaved = nodes.has_value() && sockets.has_value() && *nodes < *sockets &&
                           !absl::StrContains(text, "Hypervisor vendor:");
  output.findings.push_back(nodes.has_value() ? IntFinding("numa_nodes", node, "", *nodes)
                                              : UnknownFinding("numa_nodes", node, ""));
  if (interleaved) output.findings.back().set_expected(absl::StrCat(*sockets));
  output.findings.push_back(interleaved ? IntFinding("numa_nodes_expected", node, "", *sockets)
                                        : UnknownFinding("numa_nodes_expected", node, ""));
  std::map<std::string, int> governors;
  const auto paths = host.Glob("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
  if (paths.ok()) {
    for (const std::string& path : *paths) {
      if (const auto governor = FirstLine(host, path); governor.ok()) ++governors[*governor];
    }
  }
  std::string most;
  for (const auto& [governor, count] : governors) {
    if (most.empty() || count > governors[most]) most = governor;
  }
  output.findings.push_back(most.empty() ? UnknownFinding("governor", node, "")
                                         : TextFinding("governor", node, "", most));
  output.findings.push_back(UnknownFinding("mhz_below_base_pct", node, ""));
  output.message = absl::StrCat(nodes.value_or(0), nodes == 1 ? " NUMA node" : " NUMA nodes",
                                interleaved ? absl::StrCat(" for ", *sockets, " sockets") : "",
                                most.empty() ? "" : absl::StrCat(", governor ", most));
  return output;
}

absl::StatusOr<CheckOutput> CheckStuckProcesses(const CheckContext& context) {
  const std::string& node = context.host.name();
  GALEN_ASSIGN_OR_RETURN(
      const std::string text,
      Output(context.host, {"ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"}));
  GALEN_ASSIGN_OR_RETURN(const CheckData data,
                         CheckData::Of(context.knowledge, "system.stuck_processes"));
  const std::vector<std::string> network_fs = data.Texts("network_fs_waits");
  CheckOutput output;
  std::int64_t stuck = 0;
  for (const absl::string_view line : Lines(text)) {
    // PID PPID USER STAT WCHAN ...
    const std::vector<absl::string_view> words = Words(line);
    std::int64_t pid = 0;
    if (words.size() < 9 || !absl::SimpleAtoi(words[0], &pid) || words[3][0] != 'D') continue;
    // Kernel threads wait like that by their nature.
    if (pid == 2 || words[1] == "2") continue;
    ++stuck;
    const std::string process = absl::StrCat("process:", pid);
    // Without root the kernel does not show the function, and `ps aux` has no such column.
    const bool told = words[4] != "-" && words[4] != "0" && words[4] != "?";
    const bool network = std::any_of(
        network_fs.begin(), network_fs.end(),
        [&](const std::string& function) { return absl::StartsWith(words[4], function); });
    output.findings.push_back(told ? TextFinding("wchan", node, process, words[4])
                                   : UnknownFinding("wchan", node, process));
    output.findings.push_back(told ? BoolFinding("waits_for_network_fs", node, process, network)
                                   : UnknownFinding("waits_for_network_fs", node, process));
    absl::StrAppend(&output.message, output.message.empty() ? "" : "; ", words[8], " (", pid,
                    ") waits in ", told ? words[4] : absl::string_view("an unknown place"));
    // Only the name of the command: its arguments may hold a password, or another tenant's
    // business.
    absl::StrAppend(
        &output.excerpt,
        absl::StrJoin(absl::MakeConstSpan(words).first(std::min<std::size_t>(words.size(), 9)),
                      " "),
        "\n");
  }
  output.findings.push_back(IntFinding("d_state", node, "", stuck));
  if (const auto events = KernelEvents(context); events.ok()) {
    bool any = false;
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_HUNG_TASK) continue;
      output.findings.push_back(EventFinding("hung_task", node, "", ToLogEvent(event)));
      any = true;
    }
    if (!any) output.findings.push_back(EventFinding("hung_task", node, "", v1::LogEvent()));
  } else {
    output.findings.push_back(UnknownFinding("hung_task", node, ""));
  }
  if (stuck == 0) output.message = "no process is in uninterruptible sleep";
  return output;
}

absl::StatusOr<CheckOutput> CheckMachineCheck(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  CheckOutput output;
  std::optional<std::int64_t> corrected;
  std::optional<std::int64_t> uncorrected;
  for (const char* kind : {"ue_count", "ce_count"}) {
    const auto paths = host.Glob(absl::StrCat("/sys/devices/system/edac/mc/mc*/", kind));
    if (!paths.ok()) continue;
    for (const std::string& path : *paths) {
      const auto line = FirstLine(host, path);
      const auto count = line.ok() ? LeadingInt(*line) : std::nullopt;
      if (!count.has_value()) continue;
      std::optional<std::int64_t>& total = kind[0] == 'u' ? uncorrected : corrected;
      total = total.value_or(0) + *count;
    }
  }
  const auto events = KernelEvents(context);
  if (!corrected.has_value() && !uncorrected.has_value() && !events.ok()) return events.status();
  // A log without such lines is not a count of 0: firmware may keep them to itself if no driver of
  // the memory controller is loaded, and the errors that stop a machine are seldom logged.
  std::int64_t logged = 0;
  if (events.ok()) {
    for (const KernelEvent& event : *events) {
      if (event.family != EventFamily::KERNEL_MACHINE_CHECK) continue;
      if (event.code == "ce") {
        logged += event.count;
      } else {
        uncorrected = std::max(uncorrected.value_or(0), event.count);
      }
      absl::StrAppend(&output.excerpt, event.text, "\n");
    }
    if (logged > 0) corrected = std::max(corrected.value_or(0), logged);
  }
  const auto count = [&](absl::string_view name, std::optional<std::int64_t> value) {
    output.findings.push_back(value.has_value() ? IntFinding(name, node, "", *value)
                                                : UnknownFinding(name, node, ""));
  };
  count("uncorrected", uncorrected);
  count("corrected", corrected);
  const auto shown = [](std::optional<std::int64_t> value) {
    return value.has_value() ? absl::StrCat(*value) : std::string("an unknown number of");
  };
  output.message = absl::StrCat(shown(uncorrected), " uncorrected and ", shown(corrected),
                                " corrected errors of processors and memory modules");
  return output;
}

}  // namespace galen::node
