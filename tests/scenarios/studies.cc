// The faults of the jobs in the case studies and in the studies related to them.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/scenarios/plan.h"
#include "tests/scenarios/studies.h"

namespace galen::scenarios {
namespace {

using absl::Minutes;
using absl::Seconds;

JobPlan& JobOf(Plan& plan) { return plan.jobs.back(); }

absl::Duration MinutesBetween(Random& rng, double low, double high) {
  return absl::Floor(Seconds(60 * rng.Between(low, high)), Seconds(1));
}

// Phases of lost throughput, each made by ports of one or two nodes that send again.
void Retransmits(Plan& plan, Random rng) {
  JobPlan& job = JobOf(plan);
  const absl::Duration trained = plan.end - job.train;
  const absl::Time first = job.train + trained * rng.Between(0.25, 0.33);
  const absl::Time recovered = first + trained * rng.Between(0.2, 0.25);
  const absl::Time second = recovered + trained * rng.Between(0.1, 0.14);
  const double loss = rng.Between(0.20, 0.212);
  const double deeper = rng.Between(0.222, 0.235);
  job.slow.push_back({first, recovered, 1 / (1 - loss)});
  job.slow.push_back({second, plan.end, 1 / (1 - deeper)});
  plan.Turn(first, absl::StrFormat("throughput falls by %.0f %%", loss * 100));
  plan.Turn(recovered, "throughput recovers");
  plan.Turn(second, absl::StrFormat("throughput falls by %.0f %%", deeper * 100));

  const int count = std::clamp(static_cast<int>(plan.nodes.size()) / 6, 1, 4);
  std::map<int, int> port;
  std::vector<int> guilty;
  for (int i = 0; i < count; ++i) {
    guilty.push_back(plan.TakeNode());
    plan.Guilty(guilty.back());
    port[guilty.back()] = rng.Int(0, plan.ports - 1);
    plan.truth.guilty_devices.push_back(plan.PortPlace(guilty.back(), port[guilty.back()]));
  }
  const auto resend = [&](int node, absl::Time from, absl::Time to) {
    plan.effects.push_back(
        {Signal::kRetransmits, node, port[node], from, to, Effect::kAdd, rng.Scale(300, 3000)});
    plan.effects.push_back(
        {Signal::kAckTimeouts, node, port[node], from, to, Effect::kAdd, rng.Scale(0.8, 8)});
  };
  const auto at = [&](std::size_t i) { return guilty[i % guilty.size()]; };
  resend(at(0), first, recovered);
  if (count > 1) resend(at(1), first + (recovered - first) * rng.Between(0.3, 0.5), recovered);
  // The second phase is handed on: the next one begins before the one before it ends.
  const absl::Time middle = second + (plan.end - second) * rng.Between(0.45, 0.55);
  if (count > 2) {
    resend(at(2), second, middle + Minutes(3));
    resend(at(3), middle, plan.end);
    if (count == 3) resend(at(1), middle, plan.end);
  } else {
    resend(at(count > 1 ? 1 : 0), second, plan.end);
  }

  AddDecoys(plan, rng.Of("decoys"),
            {.hot_node = true,
             .old_port = true,
             .congestion = Span{job.train + trained * 0.08, job.train + trained * 0.14}});
  plan.truth.labels = {"INTERCONNECT_NETWORKING.RDMA_LINK.HIGH_BIT_ERROR_RATE",
                       "INTERCONNECT_NETWORKING.NIC.HCA_FAULT",
                       "INTERCONNECT_NETWORKING.RDMA_LINK.SPEED_DEGRADED"};
  plan.truth.decisive = "rdma_retransmissions";
  plan.left_out = {Signal::kRetransmits, Signal::kAckTimeouts};
  plan.incident = rng.Pick(std::vector<std::string>{
      absl::StrCat("Why is the throughput of job ", job.name,
                   " so bad? It runs without any error."),
      absl::StrCat("Job ", job.name, " on ", plan.nodes.size(),
                   " nodes trains a fifth slower than it did an hour ago, on and off, no errors."),
      absl::StrCat("Tokens per second of our MoE run ", job.name,
                   " dropped, came back, and dropped again. Nothing in the log.")});
}

std::string TaskList(const std::vector<int>& tasks) {
  std::string lines =
      "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):";
  for (const int task : tasks) absl::StrAppend(&lines, "\n/job:jax_worker/replica:0/task:", task);
  return absl::StrCat(lines,
                      "\nThe tasks have crashed. Check the task logs for an earlier error, or "
                      "scheduler events (e.g. preemption, eviction) to debug further.");
}

std::string Glog(char level, absl::Time at) {
  return absl::StrCat(std::string(1, level),
                      absl::FormatTime("%m%d %H:%M:%E6S", at, absl::UTCTimeZone()));
}

// Rank 0 and `tasks` report that the coordinator ended the job.
void Accuse(Plan& plan, const std::vector<int>& tasks, absl::Time at,
            const std::vector<int>& silent) {
  std::vector<int> tellers = {0};
  for (const int task : tasks) {
    if (std::find(silent.begin(), silent.end(), task) == silent.end()) tellers.push_back(task);
  }
  for (const int task : tellers) {
    plan.last_words.push_back(
        absl::StrCat(task, ": ", Glog('E', at),
                     "  4711 coordination_service_agent.cc:362] Polled an error from "
                     "coordination service (this can be an error from this or another task)."));
    plan.last_words.push_back(absl::StrCat(
        task, ": ", Glog('F', at + Seconds(1)),
        "  4711 client.h:77] Terminating process because the JAX distributed service detected "
        "fatal "
        "errors. This most likely indicates that another task died; see the other task logs for "
        "more details. absl::Status: ",
        absl::StrReplaceAll(TaskList(tasks), {{"\n", absl::StrCat("\n", task, ": ")}})));
  }
}

// The coordinator takes working tasks for dead.
void Heartbeat(Plan& plan, Random rng) {
  JobPlan& job = JobOf(plan);
  job.end = plan.end - MinutesBetween(rng, 6, 12);
  if (plan.style == Style::kAmd) plan.end = job.end + Seconds(rng.Int(20, 40));
  job.runs = false;
  const int count = rng.Int(1, 3);
  std::vector<int> accused;
  accused.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) accused.push_back(plan.TakeNode());
  std::sort(accused.begin(), accused.end());
  for (const int node : accused) plan.Clear(node);
  Accuse(plan, accused, job.end, {});
  AddDecoys(plan, rng.Of("decoys"), {.hot_node = rng.Chance(0.5), .old_port = rng.Chance(0.5)});
  plan.truth.labels = {"FRAMEWORK_LIBRARY.JAX_XLA.HEARTBEAT_FALSE_POSITIVE"};
  plan.truth.system_fine = true;
  plan.truth.decisive = "gpu_power";
  plan.Turn(job.end, "the coordinator ends the job");
  plan.left_out = {Signal::kPower, Signal::kTemperature, Signal::kClock, Signal::kSent,
                   Signal::kReceived};
  if (plan.style == Style::kNvidia) plan.left_out.insert(Signal::kUtilization);
  plan.incident = rng.Pick(std::vector<std::string>{
      absl::StrCat("Job ", job.name,
                   " crashed: the tasks have crashed, stopped sending heartbeats. "
                   "Which node is bad?"),
      absl::StrCat("Training ", job.name,
                   " died with \"stopped sending heartbeats\" in mid-run; "
                   "please tell us which machines to replace.")});
}

// All wait in a collective that a few never entered.
void Hang(Plan& plan, Random rng) {
  JobPlan& job = JobOf(plan);
  const bool at_start = rng.Chance(0.5);
  const absl::Time stuck =
      at_start ? job.train + Seconds(rng.Int(20, 60)) : plan.end - MinutesBetween(rng, 35, 50);
  job.stuck = stuck;
  const int odd = rng.Int(1, std::min(2, static_cast<int>(plan.unused.size())));
  std::vector<int> origins;
  origins.reserve(static_cast<std::size_t>(odd));
  for (int i = 0; i < odd; ++i) origins.push_back(plan.TakeNode());
  const auto idle = [&](int node, int gpu) {
    plan.effects.push_back({Signal::kUtilization, node, gpu, stuck, plan.end, Effect::kSet, 0});
    plan.effects.push_back({Signal::kPower, node, gpu, stuck, plan.end, Effect::kScale,
                            plan.style == Style::kAmd ? 0.87 : 0.62});
  };
  // At the start two or three GPUs of each host have entered; later all but one or two of the odd
  // hosts.
  std::vector<int> usual = {0, 1, 2, 3, 4, 5, 6, 7};
  rng.Shuffle(usual);
  usual.resize(static_cast<std::size_t>(at_start ? rng.Int(2, 3) : plan.gpus));
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    const bool is_odd = std::count(origins.begin(), origins.end(), static_cast<int>(node)) > 0;
    for (int gpu = 0; gpu < plan.gpus; ++gpu) {
      bool entered = std::count(usual.begin(), usual.end(), gpu) > 0;
      if (is_odd) entered = at_start ? !entered && gpu % 2 == 0 : gpu != usual[0];
      if (!entered) idle(static_cast<int>(node), gpu);
    }
  }
  for (const int node : origins) plan.Guilty(node);
  plan.Turn(stuck, "all GPUs wait in a collective");
  AddDecoys(plan, rng.Of("decoys"), {.hot_node = rng.Chance(0.5), .old_port = rng.Chance(0.5)});
  plan.truth.labels = {"USER_APPLICATION.COLLECTIVE_DESYNC.STUCK_IN_COLLECTIVE",
                       "FRAMEWORK_LIBRARY.JAX_XLA.COMM_INIT_DEADLOCK",
                       "FRAMEWORK_LIBRARY.NCCL.RELEASE_BUG",
                       "USER_APPLICATION.COLLECTIVE_DESYNC.RANK_CONDITIONAL_COLLECTIVE"};
  if (plan.style == Style::kNvidia)
    std::rotate(plan.truth.labels.begin(), plan.truth.labels.begin() + 1, plan.truth.labels.end());
  plan.truth.decisive = "gpu_power";
  plan.left_out = {Signal::kPower, Signal::kTemperature, Signal::kClock, Signal::kSent,
                   Signal::kReceived};
  plan.incident = at_start
                      ? absl::StrCat("Job ", job.name,
                                     " started and does not make a single step, GPUs are at 100 %.")
                      : absl::StrCat("Job ", job.name, " stopped making steps about ",
                                     absl::ToInt64Minutes(plan.end - stuck),
                                     " minutes ago. GPU utilisation is 100 %, no error.");
}

// One machine goes; the coordinator is right.
void DeadNode(Plan& plan, Random rng) {
  JobPlan& job = JobOf(plan);
  const absl::Duration timeout = Seconds(rng.Pick(std::vector<int>{600, 900}));
  job.end = plan.end - MinutesBetween(rng, 6, 12);
  const absl::Time died = job.end - timeout - Seconds(rng.Int(0, 60));
  job.stuck = died;
  job.runs = false;
  if (plan.style == Style::kAmd) plan.end = job.end + Seconds(rng.Int(20, 40));
  const int node = plan.TakeNode();
  plan.Guilty(node);
  // Its exporters say once or twice more that there is nothing, or end at once.
  const absl::Time last = died + (rng.Chance(0.6) ? plan.interval * 2 : absl::ZeroDuration());
  for (const Signal signal : {Signal::kPower, Signal::kUtilization, Signal::kClock})
    plan.effects.push_back({signal, node, -1, died, plan.end, Effect::kSet, 0});
  plan.ends.push_back({node, last});
  plan.Turn(died, absl::StrCat(plan.nodes[static_cast<std::size_t>(node)], " is gone"));
  plan.Turn(job.end, "the coordinator ends the job");
  Accuse(plan, {node}, job.end, {node});
  AddDecoys(plan, rng.Of("decoys"), {.hot_node = rng.Chance(0.5), .old_port = rng.Chance(0.5)});
  plan.truth.labels = {
      "OTHER.HOST_HARDWARE.NODE_LOST", "OTHER.HOST_HARDWARE.POWER_OR_COOLING_FAILURE",
      "SYSTEM_SOFTWARE.HOST_OS.KERNEL_PANIC_OR_LOCKUP", "OTHER.HOST_HARDWARE.CPU_OR_DIMM_ERROR"};
  plan.truth.decisive = "gpu_power";
  plan.incident = absl::StrCat("Job ", job.name,
                               " crashed: a task stopped sending heartbeats. Is it the same false "
                               "alarm again?");
}

// The second of two equal jobs was restored, and is a percent slower.
void RestoreLeak(Plan& plan, Random rng) {
  const bool beside = rng.Chance(0.5) && plan.nodes.size() >= 16;
  JobPlan fresh = JobOf(plan);
  fresh.total_steps = 50'000;
  JobPlan restored = fresh;
  restored.name = absl::StrCat(std::stoi(fresh.name) + rng.Int(1, 9));
  if (beside) {
    // On the other half of the nodes, at the same time.
    const std::size_t half = plan.nodes.size() / 2;
    fresh.nodes.resize(half);
    restored.nodes.erase(restored.nodes.begin(),
                         restored.nodes.begin() + static_cast<std::ptrdiff_t>(half));
    restored.nodes.resize(half);
    const auto of = [](const JobPlan& job, int node) {
      return std::count(job.nodes.begin(), job.nodes.end(), node) > 0;
    };
    std::vector<int> writers = fresh.writers;
    fresh.writers.clear();
    restored.writers.clear();
    for (const int node : writers) (of(fresh, node) ? fresh : restored).writers.push_back(node);
    restored.start += Seconds(rng.Int(20, 200));
    restored.train = restored.start + (fresh.train - fresh.start) + Seconds(rng.Int(20, 60));
  } else {
    // On the same nodes, one after the other.
    const absl::Duration each = (plan.end - plan.start) * 0.65;
    const absl::Duration pause = MinutesBetween(rng, 5, 10);
    fresh.end = plan.start + each;
    fresh.runs = false;
    const absl::Duration shift = each + pause;
    restored.start += shift;
    restored.train += shift + Seconds(rng.Int(20, 60));
    restored.end = plan.end = plan.start + each + shift;
  }
  restored.first_step = rng.Int(1, 4) * restored.checkpoint_period + 1;
  restored.slow.push_back({restored.start, plan.end, 1 + rng.Between(0.009, 0.0115), {}, false});
  fresh.step_noise = restored.step_noise = std::min(fresh.step_noise, 0.003);
  const double threads = rng.Between(15.5, 18.5);
  for (const int node : restored.nodes) {
    plan.effects.push_back({Signal::kRunnable, node, -1, restored.train, restored.end, Effect::kAdd,
                            threads + rng.Between(-0.8, 0.8)});
    plan.effects.push_back(
        {Signal::kContextSwitches, node, -1, restored.train, restored.end, Effect::kScale, 1.2});
  }
  // A host of either job is busy at times with unrelated work.
  for (const JobPlan* job : {&fresh, &restored}) {
    const int node =
        job->nodes[static_cast<std::size_t>(rng.Int(1, static_cast<int>(job->nodes.size()) - 1))];
    for (int i = 0; i < 3; ++i) {
      const absl::Time from = job->train + (job->end - job->train) * rng.Between(0.05, 0.9);
      plan.effects.push_back({Signal::kRunnable, node, -1, from, from + MinutesBetween(rng, 2, 4),
                              Effect::kAdd, rng.Between(15, 40)});
    }
    plan.Clear(node);
  }
  plan.Turn(restored.train, absl::StrCat("job ", restored.name, " goes on from its checkpoint"));
  plan.truth.labels = {"FRAMEWORK_LIBRARY.CHECKPOINT.RESTORE_THREAD_LEAK"};
  plan.truth.system_fine = true;
  plan.truth.decisive = "runnable_tasks";
  plan.left_out = {Signal::kRunnable, Signal::kContextSwitches};
  plan.incident =
      absl::StrCat("Why is job ", restored.name, " slower than job ", fresh.name,
                   "? Identical configs, ", restored.name, " was restored from a checkpoint.");
  plan.jobs = {std::move(fresh), std::move(restored)};
}

// Experts are loaded unevenly; the machines are fine.
void LoadBalance(Plan& plan, Random rng) {
  JobPlan& job = JobOf(plan);
  const absl::Time begins = job.train + (plan.end - job.train) * rng.Between(0.3, 0.5);
  job.imbalance = begins;
  job.imbalance_factor = rng.Between(1.5, 4);
  const double loss = rng.Between(0.10, 0.20);
  job.slow.push_back({begins, plan.end, 1 / (1 - loss), plan.end - begins, false});
  int step = job.first_step;
  step += static_cast<int>(absl::FDivDuration(begins - job.train, Seconds(job.step_seconds)));
  AddDecoys(plan, rng.Of("decoys"), {.warm_gpu = true, .old_port = rng.Chance(0.5)});
  plan.Turn(begins, "the load-balance loss rises, throughput begins to decline");
  plan.truth.labels = {"USER_APPLICATION.TRAINING.MOE_ROUTING_IMBALANCE"};
  plan.truth.system_fine = true;
  plan.truth.decisive = "load_balance_loss";
  plan.left_out = {Signal::kLoadBalanceLoss};
  plan.incident = rng.Pick(std::vector<std::string>{
      absl::StrCat("Why did the throughput of job ", job.name, " begin declining around step ",
                   step / 10 * 10, "?"),
      absl::StrCat("MoE run ", job.name, " gets slower and slower, ", plan.nodes.size(),
                   " nodes, no errors. Which node is it?")});
}

}  // namespace

void AddDecoys(Plan& plan, Random rng, const Decoys& decoys) {
  if (decoys.hot_node && !plan.unused.empty()) {
    const int node = plan.TakeNode();
    plan.effects.push_back(
        {Signal::kTemperature, node, -1, plan.start, plan.end, Effect::kAdd, rng.Between(5, 8)});
    plan.Clear(node);
  }
  if (decoys.warm_gpu && !plan.unused.empty()) {
    const int node = plan.TakeNode();
    plan.effects.push_back({Signal::kTemperature, node, rng.Int(0, plan.gpus - 1), plan.start,
                            plan.end, Effect::kAdd, rng.Between(5, 8)});
    plan.Clear(node);
  }
  if (decoys.old_port && !plan.unused.empty()) {
    const int node = plan.TakeNode();
    const int port = rng.Int(0, plan.ports - 1);
    plan.lifetimes.push_back({Signal::kRetransmits, node, port, rng.Scale(4e6, 3e7)});
    plan.lifetimes.push_back({Signal::kAckTimeouts, node, port, rng.Scale(4e4, 3e5)});
    plan.Clear(node);
  }
  if (decoys.congestion.has_value()) {
    plan.effects.push_back({Signal::kCnp, -1, -1, decoys.congestion->from, decoys.congestion->to,
                            Effect::kAdd, rng.Between(500, 1500)});
  }
}

bool Disturb(const std::string& study, Plan& plan) {
  using Study = void (*)(Plan&, Random);
  static const std::map<std::string, Study> kStudies = {
      {"retransmits", Retransmits}, {"heartbeat", Heartbeat},      {"hang", Hang},
      {"dead_node", DeadNode},      {"restore_leak", RestoreLeak}, {"load_balance", LoadBalance}};
  const auto found = kStudies.find(study);
  if (found == kStudies.end()) return DisturbMachine(study, plan);
  found->second(plan, plan.rng.Of("study"));
  return true;
}

}  // namespace galen::scenarios
