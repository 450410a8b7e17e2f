// Faults of one machine or of storage, and jobs on a system without a fault.
#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/scenarios/plan.h"
#include "tests/scenarios/studies.h"

namespace galen::scenarios {
namespace {

using absl::Seconds;

absl::Time Somewhere(const Plan& plan, Random& rng, double low, double high) {
  const JobPlan& job = plan.jobs.back();
  return absl::FromUnixSeconds(
      absl::ToUnixSeconds(job.train + (plan.end - job.train) * rng.Between(low, high)));
}

// One GPU grows hot and slows down, and everybody with it.
void Thermal(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  const int node = plan.TakeNode();
  const int gpu = rng.Int(0, plan.gpus - 1);
  const absl::Time begins = Somewhere(plan, rng, 0.3, 0.5);
  const double clock = rng.Between(0.62, 0.8);
  const absl::Duration ramp = absl::Minutes(4);
  plan.effects.push_back(
      {Signal::kTemperature, node, gpu, begins - absl::Minutes(3), plan.end, Effect::kAdd,
       plan.style == Style::kAmd ? rng.Between(24, 30) : rng.Between(33, 38), ramp});
  plan.effects.push_back({Signal::kClock, node, gpu, begins, plan.end, Effect::kScale, clock});
  plan.effects.push_back(
      {Signal::kPower, node, gpu, begins, plan.end, Effect::kScale, rng.Between(0.68, 0.82)});
  job.slow.push_back({begins, plan.end, 1 + (1 / clock - 1) * rng.Between(0.6, 0.9)});
  plan.Guilty(node);
  plan.truth.guilty_devices = {plan.GpuPlace(node, gpu)};
  plan.Turn(begins, "a GPU throttles");
  AddDecoys(plan, rng.Of("decoys"), {.warm_gpu = true, .old_port = rng.Chance(0.5)});
  plan.truth.labels = {"GPU.THERMAL.THERMAL_THROTTLE",
                       "OTHER.HOST_HARDWARE.POWER_OR_COOLING_FAILURE"};
  plan.truth.decisive = "gpu_temperature";
  plan.left_out = {Signal::kTemperature, Signal::kClock};
  plan.incident = absl::StrCat("Job ", job.name,
                               " became slower at once and stays so. Which GPU or node is it?");
}

// Memory of one GPU corrects more and more.
void Ecc(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  const int node = plan.TakeNode();
  const int gpu = rng.Int(0, plan.gpus - 1);
  const absl::Time begins = Somewhere(plan, rng, 0.2, 0.4);
  plan.effects.push_back({Signal::kEccCorrectable, node, gpu, begins, plan.end, Effect::kAdd,
                          rng.Scale(40, 300), plan.end - begins});
  plan.Guilty(node);
  plan.truth.guilty_devices = {plan.GpuPlace(node, gpu)};
  plan.Turn(begins, "correctable errors begin");
  // Another one had many, long ago.
  const int old = plan.TakeNode();
  plan.lifetimes.push_back(
      {Signal::kEccCorrectable, old, rng.Int(0, plan.gpus - 1), rng.Scale(3000, 90'000)});
  plan.Clear(old);
  AddDecoys(plan, rng.Of("decoys"), {.warm_gpu = true});
  plan.truth.labels = {"GPU.MEMORY.CORRECTABLE_ECC_STORM"};
  plan.truth.decisive = "gpu_ecc_correctable";
  plan.left_out = {Signal::kEccCorrectable, Signal::kEccUncorrectable};
  plan.incident = absl::StrCat("Job ", job.name,
                               " trains as before, but our dashboard counts memory errors "
                               "somewhere. Is any GPU about to fail?");
}

// A host's memory goes away until the kernel kills.
void HostMemory(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  const int node = plan.TakeNode();
  const std::string& name = plan.nodes[static_cast<std::size_t>(node)];
  const absl::Time begins = Somewhere(plan, rng, 0.25, 0.4);
  job.end = Somewhere(plan, rng, 0.85, 0.93);
  job.runs = false;
  // (The level is 2.4 TB; Effect::kAtMost holds it above nothing.)
  plan.effects.push_back({Signal::kMemoryAvailable, node, -1, begins, job.end, Effect::kScale,
                          0.006, job.end - begins});
  const absl::Time killed = job.end - Seconds(rng.Int(4, 12));
  plan.effects.push_back(
      {Signal::kOomKills, node, -1, killed, plan.end, Effect::kCount, rng.Chance(0.5) ? 1.0 : 2.0});
  plan.Guilty(node);
  plan.Turn(begins, "memory of a host begins to go");
  plan.Turn(killed, "the kernel kills");
  // Another host has always held more.
  const int full = plan.TakeNode();
  plan.effects.push_back(
      {Signal::kMemoryAvailable, full, -1, plan.start, plan.end, Effect::kScale, 0.55});
  plan.Clear(full);
  if (plan.style == Style::kAmd) plan.end = job.end + Seconds(rng.Int(30, 60));
  plan.last_words = {absl::StrCat("NODE_EXIT host=", name, " exit=137"),
                     "Training subprocess killed by signal 9"};
  plan.logs.push_back(
      {absl::StrCat("kernel-", name, ".log"),
       absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E6S+00:00", killed, absl::UTCTimeZone()),
                    " kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,"
                    "mems_allowed=0-1,global_oom,task_memcg=/,task=python3,pid=41877,uid=0\n",
                    absl::FormatTime("%Y-%m-%dT%H:%M:%E6S+00:00", killed, absl::UTCTimeZone()),
                    " kernel: Out of memory: Killed process 41877 (python3) "
                    "total-vm:2811032832kB, anon-rss:2214592512kB, file-rss:0kB\n"),
       name, std::nullopt, true});
  plan.truth.labels = {"SYSTEM_SOFTWARE.HOST_OS.HOST_MEMORY_EXHAUSTED",
                       "SYSTEM_SOFTWARE.RESOURCE_LIMITS.CGROUP_OOM_KILL"};
  plan.truth.decisive = "host_memory_available";
  plan.left_out = {Signal::kMemoryAvailable, Signal::kMemoryTotal, Signal::kOomKills};
  plan.incident =
      absl::StrCat("Job ", job.name, " was killed with exit code 137 on one node. Why?");
}

// Something else runs on one host.
void CpuContention(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  const int node = plan.TakeNode();
  const absl::Time begins = Somewhere(plan, rng, 0.25, 0.5);
  plan.effects.push_back(
      {Signal::kRunnable, node, -1, begins, plan.end, Effect::kAdd, rng.Scale(120, 400)});
  plan.effects.push_back(
      {Signal::kContextSwitches, node, -1, begins, plan.end, Effect::kScale, rng.Between(3, 6)});
  job.slow.push_back({begins, plan.end, 1 + rng.Between(0.12, 0.25)});
  plan.Guilty(node);
  plan.Turn(begins, "the run queue of a host grows");
  const int brief = plan.TakeNode();
  const absl::Time other = Somewhere(plan, rng, 0.6, 0.8);
  plan.effects.push_back({Signal::kRunnable, brief, -1, other, other + absl::Minutes(2),
                          Effect::kAdd, rng.Scale(60, 150)});
  plan.Clear(brief);
  AddDecoys(plan, rng.Of("decoys"), {.warm_gpu = true, .old_port = rng.Chance(0.5)});
  plan.truth.labels = {"SYSTEM_SOFTWARE.HOST_OS.CPU_CONTENTION",
                       "SYSTEM_SOFTWARE.HOST_OS.AGENT_INTERFERENCE"};
  plan.truth.decisive = "runnable_tasks";
  plan.left_out = {Signal::kRunnable, Signal::kContextSwitches};
  plan.incident = absl::StrCat("Steps of job ", job.name,
                               " take longer since a while, GPUs look healthy. What is it?");
}

// The shared file system cannot feed the job.
void Storage(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  const absl::Time begins = Somewhere(plan, rng, 0.3, 0.5);
  job.starved = begins;
  job.starved_seconds = job.step_seconds * rng.Between(0.2, 0.5);
  const double waits = job.starved_seconds / (job.starved_seconds + job.step_seconds);
  const absl::Duration ramp = absl::Minutes(10);
  const auto all = [&](Signal signal, Effect::How how, double amount) {
    plan.effects.push_back({signal, -1, -1, begins, plan.end, how, amount, ramp});
  };
  all(Signal::kIoStalled, Effect::kAdd, waits * rng.Between(0.8, 1.1));
  all(Signal::kBlocked, Effect::kAdd, rng.Between(8, 16));
  all(Signal::kNfsReadTime, Effect::kScale, rng.Between(8, 25));
  all(Signal::kNfsRetransmits, Effect::kAdd, rng.Between(0.1, 0.8));
  all(Signal::kUtilization, Effect::kScale, 1 - 0.6 * waits);
  all(Signal::kPower, Effect::kScale, 1 - 0.5 * waits);
  plan.Turn(begins, "reads begin to take longer");
  AddDecoys(plan, rng.Of("decoys"), {.warm_gpu = true, .old_port = rng.Chance(0.5)});
  plan.truth.labels = {"SYSTEM_SOFTWARE.STORAGE.SHARED_FS_TOO_SLOW",
                       "SYSTEM_SOFTWARE.STORAGE.NFS_RPC_SLOTS_SATURATED",
                       "SYSTEM_SOFTWARE.STORAGE.SHARED_FS_STALLED"};
  plan.truth.decisive = "io_pressure";
  plan.left_out = {Signal::kIoStalled,   Signal::kBlocked,        Signal::kDataTime,
                   Signal::kNfsReadTime, Signal::kNfsRetransmits, Signal::kNfsReads};
  plan.incident =
      absl::StrCat("Throughput of job ", job.name, " went down over ten minutes on all ",
                   plan.nodes.size(), " nodes and stays low.");
}

// All GPUs of a node are held at a low clock.
void NodeSlow(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  const int node = plan.TakeNode();
  const absl::Time begins = rng.Chance(0.5) ? plan.start : Somewhere(plan, rng, 0.3, 0.5);
  const double share = rng.Between(0.6, 0.75);
  const double clock = (plan.style == Style::kAmd ? 2100 : 1755) * share;
  plan.effects.push_back({Signal::kClock, node, -1, begins, plan.end, Effect::kAtMost, clock});
  plan.effects.push_back(
      {Signal::kPower, node, -1, begins, plan.end, Effect::kScale, rng.Between(0.6, 0.75)});
  plan.effects.push_back(
      {Signal::kTemperature, node, -1, begins, plan.end, Effect::kAdd, -rng.Between(6, 10)});
  job.slow.push_back({begins, plan.end, 1 + (1 / share - 1) * rng.Between(0.6, 0.9)});
  plan.Guilty(node);
  for (int gpu = 0; gpu < plan.gpus; ++gpu)
    plan.truth.guilty_devices.push_back(plan.GpuPlace(node, gpu));
  if (begins > plan.start) plan.Turn(begins, "clocks of a node are held low");
  AddDecoys(plan, rng.Of("decoys"), {.warm_gpu = true, .old_port = rng.Chance(0.5)});
  plan.truth.labels = {"SYSTEM_SOFTWARE.GPU_CONFIG.CLOCK_OR_POWER_LIMIT_LOW",
                       "GPU.POWER.STUCK_LOW_POWER_STATE", "GPU.POWER.HW_POWER_BRAKE",
                       "SYSTEM_SOFTWARE.HOST_PLATFORM.BMC_POWER_BRAKE_POLICY",
                       "GPU.POWER.INPUT_POWER_INSUFFICIENT"};
  plan.truth.decisive = "gpu_clock";
  plan.left_out = {Signal::kClock, Signal::kPower, Signal::kTemperature};
  plan.incident = absl::StrCat("Job ", job.name, " on ", plan.nodes.size(),
                               " nodes is much slower than the same job last week.");
}

// The system has no fault. In a third of the scenes throughput declines all the same: the job's own
// loader delivers the data of the steps ever more slowly, or (if the trainer does not report that)
// experts are loaded unevenly.
void Fine(Plan& plan, Random rng) {
  JobPlan& job = plan.jobs.back();
  AddDecoys(plan, rng.Of("decoys"),
            {.hot_node = rng.Chance(0.5),
             .warm_gpu = rng.Chance(0.7),
             .old_port = rng.Chance(0.7),
             .congestion = Span{job.train + (plan.end - job.train) * 0.5,
                                job.train + (plan.end - job.train) * 0.55}});
  plan.truth.system_fine = true;
  if (!rng.Chance(1.0 / 3)) {
    plan.incident = rng.Pick(std::vector<std::string>{
        absl::StrCat("Is everything all right with job ", job.name, "?"),
        absl::StrCat("Please check the health of the nodes of job ", job.name,
                     ", we want to be sure before the long run.")});
    return;
  }
  const absl::Time begins = Somewhere(plan, rng, 0.3, 0.5);
  if (plan.style == Style::kNvidia) {
    job.starved = begins;
    job.starved_seconds = job.step_seconds * rng.Between(0.2, 0.4);
    const double waits = job.starved_seconds / (job.starved_seconds + job.step_seconds);
    for (const Signal signal : {Signal::kUtilization, Signal::kPower}) {
      plan.effects.push_back(
          {signal, -1, -1, begins, plan.end, Effect::kScale, 1 - 0.6 * waits, absl::Minutes(10)});
    }
    plan.Turn(begins, "steps begin to wait for their data");
    plan.truth.labels = {"USER_APPLICATION.DATA.INPUT_PIPELINE_SLOW"};
    plan.truth.decisive = "data_time";
  } else {
    job.imbalance = begins;
    job.imbalance_factor = rng.Between(1.4, 2.5);
    job.slow.push_back({begins, plan.end, 1 + rng.Between(0.12, 0.2), plan.end - begins, false});
    plan.Turn(begins, "the load-balance loss rises");
    plan.truth.labels = {"USER_APPLICATION.TRAINING.MOE_ROUTING_IMBALANCE"};
    plan.truth.decisive = "load_balance_loss";
  }
  plan.incident =
      absl::StrCat("Throughput of job ", job.name, " declines. Which machine has to be taken out?");
}

}  // namespace

bool DisturbMachine(const std::string& study, Plan& plan) {
  using Study = void (*)(Plan&, Random);
  static const std::map<std::string, Study> kStudies = {{"thermal", Thermal},
                                                        {"ecc", Ecc},
                                                        {"host_memory", HostMemory},
                                                        {"storage", Storage},
                                                        {"node_slow", NodeSlow},
                                                        {"cpu_contention", CpuContention},
                                                        {"fine", Fine}};
  const auto found = kStudies.find(study);
  if (found == kStudies.end()) return false;
  found->second(plan, plan.rng.Of("study"));
  return true;
}

}  // namespace galen::scenarios
