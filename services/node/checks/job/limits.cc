#include "services/node/checks/job/limits.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "re2/re2.h"
#include "services/node/checks/job/gpu_ranks.h"
#include "services/node/checks/job/launch.h"
#include "services/node/checks/system/capture.h"
#include "services/node/checks/system/cgroups.h"
#include "services/node/checks/system/file_systems.h"
#include "services/node/checks/system/listings.h"
#include "services/node/checks/system/services.h"

namespace galen::node {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

std::optional<std::int64_t> IntAt(const host::Host& host, const std::string& path) {
  const auto line = FirstLine(host, path);
  if (!line.ok()) return std::nullopt;
  if (*line == "max") return kUnlimited;
  return LeadingInt(*line);
}

// Ranks of the job on this node: its processes that were captured. On a live machine /proc holds
// those of everybody, so it is the one process that is known to be the job's.
std::vector<std::string> ProcessesOfJob(const host::Host& host, absl::string_view file) {
  std::vector<std::string> pids;
  if (host.live()) {
    if (host.ReadFile(absl::StrCat("/proc/self/", file), host::View::kJob).ok()) pids = {"self"};
    return pids;
  }
  const auto paths = host.Glob(absl::StrCat("/proc/*/", file), host::View::kJob);
  if (!paths.ok()) return pids;
  for (const std::string& path : *paths) {
    const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
    if (parts.size() == 4 && absl::ascii_isdigit(static_cast<unsigned char>(parts[2][0]))) {
      pids.emplace_back(parts[2]);
    }
  }
  return pids;
}

// "0-3,8" is five.
std::optional<std::int64_t> ListSize(absl::string_view list) {
  std::int64_t count = 0;
  for (const absl::string_view range : absl::StrSplit(list, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(range, absl::MaxSplits('-', 1));
    std::int64_t first = 0;
    if (!absl::SimpleAtoi(ends.first, &first)) return std::nullopt;
    std::int64_t last = first;
    if (!ends.second.empty() && !absl::SimpleAtoi(ends.second, &last)) return std::nullopt;
    if (first < 0 || last < first || last > 1 << 20) return std::nullopt;
    count += last - first + 1;
  }
  return count;
}

std::optional<std::int64_t> IntOf(const std::map<std::string, std::string>& environment,
                                  const std::string& name) {
  const auto it = environment.find(name);
  std::int64_t value = 0;
  if (it == environment.end() || !absl::SimpleAtoi(it->second, &value)) return std::nullopt;
  return value;
}

struct ThreadsOf {
  std::int64_t user = -1;
  std::int64_t threads = 0;
};

// The user and the number of threads of each process. On a live machine only the one process that
// is known to be the job's could be read, which does not show the other processes of its user.
std::map<std::string, ThreadsOf> ThreadsByProcess(const host::Host& host,
                                                  const std::vector<std::string>& pids) {
  std::map<std::string, ThreadsOf> all;
  if (host.live()) return all;
  for (const std::string& pid : pids) {
    const auto status = host.ReadFile(absl::StrCat("/proc/", pid, "/status"), host::View::kJob);
    if (pid == "self" || !status.ok()) continue;
    ThreadsOf one;
    for (const absl::string_view line : Lines(*status)) {
      const std::vector<absl::string_view> words = Words(line);
      if (words.size() < 2) continue;
      if (words[0] == "Uid:") one.user = LeadingInt(words[1]).value_or(-1);
      if (words[0] == "Threads:") one.threads = LeadingInt(words[1]).value_or(0);
    }
    // Root has no limit of processes, whatever its limits say.
    if (one.user > 0 && one.threads > 0 && one.threads <= 1 << 22) all[pid] = one;
  }
  return all;
}

}  // namespace

std::map<std::string, std::int64_t> ParseLimits(absl::string_view text) {
  std::map<std::string, std::int64_t> limits;
  for (const absl::string_view line : Lines(text)) {
    // Columns are fixed: name in 26, soft limit in 21.
    if (line.size() < 27 || !absl::StartsWith(line, "Max ")) continue;
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, 26)));
    const std::vector<absl::string_view> words = Words(line.substr(26));
    std::int64_t value = 0;
    if (words.empty()) continue;
    if (words[0] == "unlimited") {
      limits[name] = kUnlimited;
    } else if (absl::SimpleAtoi(words[0], &value)) {
      limits[name] = value;
    }
  }
  return limits;
}

absl::StatusOr<CheckOutput> CheckJobLimits(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  std::vector<std::string> pids = ProcessesOfJob(host, "limits");
  if (pids.empty()) pids = {"self"};
  const std::map<std::string, ThreadsOf> threads = ThreadsByProcess(host, pids);
  std::map<std::int64_t, std::int64_t> of_user;
  for (const auto& [pid, one] : threads) of_user[one.user] += one.threads;
  CheckOutput output;
  absl::Status failure;
  for (const std::string& pid : pids) {
    const auto text = host.ReadFile(absl::StrCat("/proc/", pid, "/limits"), host::View::kJob);
    if (!text.ok()) {
      failure = text.status();
      continue;
    }
    const std::map<std::string, std::int64_t> limits = ParseLimits(*text);
    const std::string device = pid == "self" ? "" : absl::StrCat("process:", pid);
    const auto add = [&](absl::string_view finding, const std::string& name, std::int64_t unit) {
      const auto it = limits.find(name);
      if (it == limits.end()) {
        output.findings.push_back(UnknownFinding(finding, node, device));
      } else if (it->second == kUnlimited) {
        output.findings.push_back(TextFinding(finding, node, device, "unlimited"));
      } else if (unit > 1) {
        output.findings.push_back(FloatFinding(
            finding, node, device, static_cast<double>(it->second) / static_cast<double>(unit)));
      } else {
        output.findings.push_back(IntFinding(finding, node, device, it->second));
      }
    };
    add("memlock_kib", "Max locked memory", 1024);
    add("nproc", "Max processes", 1);
    add("nofile", "Max open files", 1);
    // Counts all captured processes of the job's user: the limit counts at least these.
    const auto own = threads.find(pid);
    output.findings.push_back(own == threads.end()
                                  ? UnknownFinding("threads", node, device)
                                  : IntFinding("threads", node, device, of_user[own->second.user]));
    if (output.message.empty()) {
      const auto it = limits.find("Max locked memory");
      output.message = it == limits.end() ? "the limits do not name locked memory"
                       : it->second == kUnlimited
                           ? "the job may lock any amount of memory"
                           : absl::StrCat("the job may lock ", it->second / 1024, " KiB");
      output.excerpt = *text;
    }
  }
  if (output.findings.empty()) return failure;
  return output;
}

absl::StatusOr<CheckOutput> CheckContainerLimits(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const std::vector<std::string> folders = JobCgroups(host);
  if (folders.empty()) return absl::UnavailableError("the job's control group is not known");
  CheckOutput output;
  for (const std::string& folder : folders) {
    const auto add = [&](absl::string_view name, std::optional<std::int64_t> value) {
      output.findings.push_back(!value.has_value()     ? UnknownFinding(name, node, "")
                                : *value == kUnlimited ? TextFinding(name, node, "", "unlimited")
                                                       : IntFinding(name, node, "", *value));
    };
    const auto number = [](const std::map<std::string, std::int64_t>& from,
                           const std::string& name) -> std::optional<std::int64_t> {
      const auto it = from.find(name);
      if (it == from.end()) return std::nullopt;
      return it->second;
    };
    const std::optional<std::int64_t> memory = IntAt(host, folder + "/memory.max");
    if (memory.has_value() && *memory != kUnlimited) {
      output.findings.push_back(
          FloatFinding("memory_max_gib", node, "", static_cast<double>(*memory) / kGib));
    } else {
      add("memory_max_gib", memory);
    }
    auto kills = number(ReadCounters(host, folder + "/memory.events"), "oom_kill");
    // On a live host the group is that of one process, whose siblings may be other ranks': that it
    // counts none says nothing of them.
    if (host.live() && kills == 0) kills = std::nullopt;
    add("oom_kills", kills);
    // "max 100000" or "200000 100000": microseconds in each period.
    const auto quota = FirstLine(host, folder + "/cpu.max");
    const std::vector<absl::string_view> parts =
        quota.ok() ? Words(*quota) : std::vector<absl::string_view>();
    double share = 0;
    double period = 0;
    if (parts.size() == 2 && parts[0] == "max") {
      add("cpu_quota_cores", kUnlimited);
    } else if (parts.size() == 2 && absl::SimpleAtod(parts[0], &share) &&
               absl::SimpleAtod(parts[1], &period) && period > 0) {
      output.findings.push_back(FloatFinding("cpu_quota_cores", node, "", share / period));
    } else {
      add("cpu_quota_cores", std::nullopt);
    }
    const auto stat = ReadCounters(host, folder + "/cpu.stat");
    const auto periods = number(stat, "nr_periods");
    const auto throttled = number(stat, "nr_throttled");
    if (periods.has_value() && throttled.has_value()) {
      const double percent =
          *periods == 0 ? 0.0
                        : 100.0 * static_cast<double>(*throttled) / static_cast<double>(*periods);
      output.findings.push_back(FloatFinding("throttled_pct", node, "", percent));
    } else {
      add("throttled_pct", std::nullopt);
    }
    add("pids_max", IntAt(host, folder + "/pids.max"));
    add("pids_max_events", number(ReadCounters(host, folder + "/pids.events"), "max"));
    absl::StrAppend(&output.message, output.message.empty() ? "" : "; ", "control group ",
                    BaseName(folder), ": ",
                    kills.has_value() ? absl::StrCat(*kills, " kills for lack of memory")
                                      : "kills for lack of memory are not known");
  }
  return output;
}

namespace {

struct SharedMemory {
  double mib = 0;
  std::optional<double> used_pct;
};

absl::StatusOr<SharedMemory> ReadShm(const host::Host& host) {
  constexpr absl::string_view kPlace = "/dev/shm";
  constexpr double kMib = 1024.0 * 1024.0;
  if (const auto space = host.SpaceAt(kPlace, host::View::kJob); space.ok()) {
    SharedMemory shm = {static_cast<double>(space->total_bytes) / kMib, std::nullopt};
    if (space->total_bytes > 0) {
      const auto used = static_cast<double>(space->total_bytes - space->free_bytes);
      shm.used_pct = std::ceil(100.0 * used / static_cast<double>(space->total_bytes));
    }
    return shm;
  } else if (!absl::IsUnavailable(space.status())) {
    return space.status();
  }
  GALEN_ASSIGN_OR_RETURN(const std::string text, Output(host, {"df", "-PT"}, host::View::kJob));
  for (const FileSystem& entry : ParseDf(text)) {
    if (entry.target == kPlace) {
      return SharedMemory{static_cast<double>(entry.total) / 1024.0, entry.used_pct};
    }
  }
  return absl::NotFoundError("the job has no file system at /dev/shm");
}

}  // namespace

absl::StatusOr<CheckOutput> CheckContainerShm(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const SharedMemory shm, ReadShm(context.host));
  const std::string& node = context.host.name();
  CheckOutput output;
  output.findings = {FloatFinding("size_mib", node, "mount:/dev/shm", shm.mib),
                     shm.used_pct.has_value()
                         ? FloatFinding("used_pct", node, "mount:/dev/shm", *shm.used_pct)
                         : UnknownFinding("used_pct", node, "mount:/dev/shm")};
  output.message = absl::StrCat(
      "/dev/shm of the job has ", static_cast<std::int64_t>(shm.mib), " MiB, of which ",
      shm.used_pct.has_value() ? absl::StrCat(*shm.used_pct, " %") : "an unknown part", " is used");
  return output;
}

namespace {

// How many GPUs the job sees; where it was not looked at itself, those of its machine, of which it
// sees no more.
std::optional<std::int64_t> GpusOfJob(const host::Host& host) {
  for (const host::View view : {host::View::kJob, host::View::kHost}) {
    const auto smi = host.Run(std::vector<std::string>{"nvidia-smi", "-L"}, view);
    // A driver that does not answer is complained of on standard output too.
    if (smi.ok()) {
      if (smi->exit_code != 0 || smi->excerpt) return std::nullopt;
      return ListedDevices(smi->out);
    }
    if (!absl::IsUnavailable(smi.status())) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CheckOutput> CheckJobPlacement(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  const auto environment = host.JobEnvironment();
  const std::vector<std::string> pids = ProcessesOfJob(host, "status");
  const std::shared_ptr<const LaunchReports> launch = ReadLaunch(context);
  const std::optional<std::int64_t> gpus = GpusOfJob(host);
  const bool launched = launch != nullptr && launch->RanksPerNode().has_value() && gpus.has_value();
  if (!environment.ok() && pids.empty() && !launched) return environment.status();
  CheckOutput output;
  for (const std::string& pid : pids) {
    const auto status = host.ReadFile(absl::StrCat("/proc/", pid, "/status"), host::View::kJob);
    if (!status.ok()) continue;
    for (const absl::string_view line : Lines(*status)) {
      absl::string_view rest = line;
      if (!absl::ConsumePrefix(&rest, "Cpus_allowed_list:")) continue;
      const auto count = ListSize(absl::StripAsciiWhitespace(rest));
      const std::string device = pid == "self" ? "" : absl::StrCat("process:", pid);
      output.findings.push_back(count.has_value() ? IntFinding("cpus_allowed", node, device, *count)
                                                  : UnknownFinding("cpus_allowed", node, device));
    }
  }
  std::optional<std::int64_t> ranks;
  if (environment.ok()) {
    for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "SLURM_NTASKS_PER_NODE", "MPI_LOCALNRANKS"}) {
      if (!ranks.has_value()) ranks = IntOf(*environment, name);
    }
  }
  if (!ranks.has_value() && launch != nullptr) ranks = launch->RanksPerNode();
  if (ranks.has_value() && gpus.has_value()) {
    output.findings.push_back(BoolFinding("ranks_gt_gpus", node, "", *ranks > *gpus));
    output.message = absl::StrCat(*ranks, " ranks on ", *gpus, " GPUs");
  } else {
    output.findings.push_back(UnknownFinding("ranks_gt_gpus", node, ""));
    output.message = ranks.has_value() ? "how many GPUs the job sees is not known"
                                       : "how many ranks run on this node is not known";
  }
  // In a job of one process, two processes on a GPU are two jobs.
  bool several = ranks.value_or(0) > 1 ||
                 (launch != nullptr &&
                  (launch->GreatestRank().value_or(0) > 0 || launch->WorldSize().value_or(0) > 1));
  if (environment.ok()) {
    for (const char* name : {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS",
                             "MV2_COMM_WORLD_SIZE"}) {
      several |= IntOf(*environment, name).value_or(0) > 1;
    }
  }
  std::map<int, int> on_gpu;
  const auto listed =
      Output(host, {"ps", "-eo", "pid,ppid,user,stat,wchan:32,etimes,rss,pcpu,comm,args"});
  const auto smi = Output(host, {"nvidia-smi", "-q", "-x"});
  if (several && listed.ok() && smi.ok()) {
    if (const auto processes = ComputeProcesses(*smi); processes.has_value()) {
      on_gpu = RanksOnGpus(*processes, ParseProcesses(*listed));
    }
  }
  for (const auto& [gpu, count] : on_gpu) {
    output.findings.push_back(
        IntFinding("ranks_on_same_gpu", node, absl::StrCat("gpu:", gpu), count));
    if (count > 1) {
      absl::StrAppend(&output.message, "; ", count, " processes of one command are on GPU ", gpu);
    }
  }
  if (on_gpu.empty()) output.findings.push_back(UnknownFinding("ranks_on_same_gpu", node, ""));
  std::optional<bool> same;
  if (environment.ok()) {
    const auto visible = environment->find("CUDA_VISIBLE_DEVICES");
    if (visible != environment->end()) same = AllOnFirstVisible(on_gpu, visible->second);
  }
  output.findings.push_back(same.has_value() ? BoolFinding("visible_devices_same", node, "", *same)
                                             : UnknownFinding("visible_devices_same", node, ""));
  return output;
}

}  // namespace galen::node
