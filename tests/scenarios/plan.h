#ifndef TESTS_SCENARIOS_PLAN_H_
#define TESTS_SCENARIOS_PLAN_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/scenarios/random.h"
#include "tests/scenarios/scene.h"

namespace galen::scenarios {

// The signals that exporters measure.
enum class Signal {
  // Signals of a GPU.
  kUtilization,
  kPower,
  kTemperature,
  kClock,
  kGpuMemory,
  kEccCorrectable,
  kEccUncorrectable,
  // Signals of an RDMA port.
  kRetransmits,
  kAckTimeouts,
  kCnp,
  kSent,
  kReceived,
  kPortState,
  // Signals of a host.
  kTcpRetransmits,
  kRunnable,
  kBlocked,
  kContextSwitches,
  kMemoryAvailable,
  kMemoryTotal,
  kDirty,
  kWriteback,
  kOomKills,
  kIoStalled,
  kNfsReads,
  kNfsReadTime,
  kNfsRetransmits,
  kDriverErrors,
  // Signals of the training loop.
  kThroughput,
  kStepTime,
  kStep,
  kLoss,
  kGradientNorm,
  kLearningRate,
  kLoadBalanceLoss,
  kDataTime,
};

// A change of a signal. For a counter, its growth per second changes.
struct Effect {
  enum How { kAdd, kScale, kSet, kAtMost, kCount };  // kCount: a counter jumps, at `from`
  Signal signal;
  int node = -1;    // -1: all
  int device = -1;  // -1: all
  absl::Time from;
  absl::Time to;
  How how = kAdd;
  double amount = 0;
  absl::Duration ramp = absl::ZeroDuration();  // over which it comes, evenly
};

// Steps take `factor` times as long. If several apply at once, the longest counts: the slowest
// link, node or reader paces the job.
struct Slowdown {
  absl::Time from;
  absl::Time to;
  double factor = 1;
  absl::Duration ramp = absl::ZeroDuration();
  bool idles = true;  // GPUs wait during it, and draw less
};

struct Step {
  int number = 0;
  absl::Time begin;
  absl::Time end;
  double seconds = 0;
  double data_seconds = 0;
  double tokens = 0;  // a GPU and second
  double loss = 0;
  double gradient_norm = 0;
  double learning_rate = 0;
  double load_balance_loss = 0;
  bool checkpoint = false;
};

struct Span {
  absl::Time from;
  absl::Time to;
};

struct JobPlan {
  std::string name;
  std::vector<int> nodes;
  absl::Time start;
  absl::Time train;
  absl::Time end;
  bool runs = true;
  std::optional<absl::Time> stuck;  // no step ends after that
  bool moe = true;
  int first_step = 0;
  int total_steps = 10'000;
  int checkpoint_period = 100;
  double checkpoint_seconds = 30;
  double step_seconds = 15;
  double step_noise = 0.004;
  double tokens = 3290;  // a GPU and second, undisturbed
  double data_seconds = 0.05;
  std::vector<int> writers;  // nodes that write checkpoints
  std::vector<Slowdown> slow;
  // The load-balance loss rises by this share of itself.
  std::optional<absl::Time> imbalance;
  double imbalance_factor = 1;
  // Each step waits longer for its data.
  std::optional<absl::Time> starved;
  double starved_seconds = 0;

  // Made by Simulate.
  std::vector<Step> steps;
  std::vector<Span> checkpoints;

  double SlowAt(absl::Time at, bool idle_only) const;
};

// The time when a node's exporters stop.
struct End {
  int node;
  absl::Time at;
};

struct Lifetime {  // the earlier value of a counter
  Signal signal;
  int node;
  int device;
  double value;
};

struct Plan {
  Plan(Random random, Style of) : rng(random), style(of) {}

  Random rng;
  Style style;
  absl::Time start;
  absl::Time end;
  absl::Duration interval;
  std::vector<std::string> nodes;
  int gpus = 8;
  int ports = 8;
  std::vector<JobPlan> jobs;
  std::vector<Effect> effects;
  std::vector<End> ends;
  std::vector<Lifetime> lifetimes;
  std::set<Signal> left_out;
  // The last lines of the last job's log, with the prefix of their writer.
  std::vector<std::string> last_words;
  std::vector<Log> logs;
  std::string incident;
  Truth truth;

  std::string Port(int device) const;
  std::string GpuPlace(int node, int gpu) const;
  std::string PortPlace(int node, int port) const;
  // Nodes without a role yet: each is assigned once.
  int TakeNode();
  std::vector<int> unused;

  void Guilty(int node) { truth.guilty_nodes.push_back(nodes[static_cast<std::size_t>(node)]); }
  void Clear(int node) { truth.cleared_nodes.push_back(nodes[static_cast<std::size_t>(node)]); }
  void Turn(absl::Time at, std::string what) { truth.transitions.push_back({at, std::move(what)}); }
};

// The machines, the times and the job, undisturbed.
Plan MakePlan(Style style, const Random& rng, int nodes);
// Applies a study's disturbances to the plan. False: the study does not exist.
bool Disturb(const std::string& study, Plan& plan);
// Steps and checkpoints of a job.
void Simulate(JobPlan& job, const Random& rng);
// Adds the effects of checkpoints on the nodes that write them.
void WriteCheckpoints(Plan& plan);
std::vector<telemetry::TimeSeries> Render(const Plan& plan);
std::vector<Log> WriteLogs(const Plan& plan, const std::string& study);

// The name of the signal's quantity in knowledge/telemetry/sources.yaml.
const char* QuantityOf(Signal signal);

}  // namespace galen::scenarios

#endif  // TESTS_SCENARIOS_PLAN_H_
