#ifndef TESTS_TESTING_DETECTION_MADE_UP_FLEET_H_
#define TESTS_TESTING_DETECTION_MADE_UP_FLEET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace galen::testing {

struct FleetShape {
  int nodes = 125;
  int gpus = 8;  // a node
  int minutes = 30 * 24 * 60;
  int faults = 3;  // of each kind
};

// An A800's (../shared/facts/hardware.yaml).
inline constexpr float kFleetLimitWatts = 400;
inline constexpr float kFleetIdleWatts = 60;

enum class FaultKind {
  kClockLow,     // a GPU's clock is held low, at once or step by step
  kPowerCap,     // its power limit is lowered
  kThermal,      // it grows hot, and then slow
  kMemory,       // correctable errors become more and more, until one is not correctable
  kNvlink,       // replays of a link, which then slows the job
  kRdma,         // a node's port retransmits more and more
  kHostLeak,     // a node's memory goes to its end
  kSlowStorage,  // the nodes of a job wait for their data
};
inline constexpr std::size_t kFaultKinds = 8;
const char* NameOf(FaultKind kind);

// One that was planted. Minutes; -1: never.
struct PlantedFault {
  FaultKind kind = FaultKind::kClockLow;
  int node = 0;
  int gpu = -1;  // of the node; -1: the node's
  int begin = 0;
  int ramp = 0;      // over which it reaches `depth`
  double depth = 0;  // of its kind's own measure
  int steps = 0;     // 0: smoothly
  int end = 0;       // time of the repair, or the end of the job that had it
  int job = -1;      // that it affected first
  // When the job's throughput has been a tenth below what it should be for ten minutes, and for
  // thirty (when people notice); or when the job died of it.
  int visible10 = -1;
  int visible30 = -1;
  bool sudden = false;  // nothing foretells it
  bool died = false;
  std::vector<int> jobs;  // that ran on it
};

struct PlannedWork {
  int from = 0;
  int until = 0;
  int node = 0;
};

// Thirty days of a fleet, a minute at a time. Four fifths of the nodes train: jobs of 1 to 32 nodes
// that start, stop, write checkpoints, evaluate; the others serve, by day more than by night.
// Healthy are:
// - GPUs that always differ a little in power, clock and temperature; machines of a job that have
//   more to do than others, always or for hours; noise that remembers; racks that grow warmer for
//   hours; jobs whose throughput changes by their own doing;
// - single errors of memory and links, and a few GPUs that have many; congestion of a job's
//   network; memory that fills and empties; counters that are reset; values that are missing, for a
//   minute or an hour; exporters that hang and repeat what they said (ghosts);
// - planned work, that is announced.
// The numbers are ours, not measured: what a detector reaches on them says how it takes these, and
// no more. Equal seeds give equal fleets.
class MadeUpFleet {
 public:
  MadeUpFleet(const FleetShape& shape, std::uint64_t seed);

  // Goes to the next minute: false when there is none. Values are of that minute until the next
  // call.
  bool Next();
  int minute() const { return minute_; }

  // By GPU: node * gpus + gpu. NaN: missing. -1: no job.
  const std::vector<std::int32_t>& gpu_jobs() const { return gpu_jobs_; }
  const std::vector<float>& utilization() const { return utilization_; }  // %
  const std::vector<float>& power() const { return power_; }              // W
  const std::vector<float>& clock() const { return clock_; }              // MHz
  const std::vector<float>& temperature() const { return temperature_; }  // C
  const std::vector<double>& ecc() const { return ecc_; }                 // counters
  const std::vector<double>& nvlink() const { return nvlink_; }
  const std::vector<double>& pcie() const { return pcie_; }
  // By node.
  const std::vector<std::int32_t>& node_jobs() const { return node_jobs_; }
  const std::vector<double>& retransmissions() const { return retransmissions_; }  // a counter
  const std::vector<float>& memory_available() const { return memory_; }           // of 1
  const std::vector<float>& io_pressure() const { return pressure_; }              // share of time
  // By slot of a job: one a node, that of the job's first node.
  const std::vector<std::int32_t>& job_ids() const { return job_ids_; }
  const std::vector<float>& throughput() const { return throughput_; }
  const std::vector<float>& predicted_low() const { return predicted_; }

  // True of the whole; `visible...` and `end` only once the minutes have passed.
  const std::vector<PlantedFault>& faults() const { return faults_; }
  const std::vector<PlannedWork>& planned() const { return planned_; }
  static int SwitchOf(int node) { return node / 16; }

 private:
  struct Job {
    int id = 0;
    std::vector<int> nodes;
    int end = 0;
    int began = 0;
    bool trains = true;
    float power = 0;  // share of the limit
    float level = 0;  // throughput
    int checkpoint_every = 0;
    int checkpoint_takes = 0;
    int change_at = 0;  // when its own doing changes its throughput
    float change = 1;
    bool tells = true;  // has metrics of its own
    float congestion = 0;
    float clock = 1;      // of the most: heavy work meets the power limit, and that is right
    float memory = 0;     // share of its machines' that it has
    float reads = 0;      // share of time that it waits for its data
    float imbalance = 0;  // experts that are asked more, for hours
    float stages = 0;     // how much its machines' shares of the work differ
    float fills = 0;      // of memory, in one round
    int round = 0;
    // Now.
    float speed = 1;
    bool pauses = false;
    bool dies = false;
  };

  float Uniform() { return static_cast<float>(Random() >> 40) * 0x1p-24F; }
  float Between(float low, float high) { return low + (high - low) * Uniform(); }
  int Ramp(float low, float high);  // minutes, evenly on a logarithmic scale
  int Int(int low, int high);       // high excluded
  bool Chance(double chance) { return Random() < static_cast<std::uint64_t>(chance * 0x1p64); }
  std::uint64_t Random();
  const float* Noise();
  double Poisson(double mean);

  void Plant();
  void Schedule();
  void Start(std::vector<int> nodes, bool trains);
  void Stop(Job& job, int pause);
  double Progress(const PlantedFault& fault) const;
  const Job* JobOn(int node) const;
  void Settle(PlantedFault& fault);
  void Apply(const PlantedFault& fault);
  void ApplyFaults();
  void StepJobs();
  void StepGpus();
  void StepNodes();
  void SeeFaults();
  void Spoil();

  const FleetShape shape_;
  std::uint64_t state_[2];
  std::vector<float> pool_;
  int minute_ = -1;
  int next_job_ = 1;
  std::vector<Job> jobs_;
  std::vector<int> free_at_;  // by node: minute from which a job may start; busy: -1
  std::vector<PlantedFault> faults_;
  std::vector<PlannedWork> planned_;

  // The present effects of the faults, by GPU and node.
  std::vector<float> clock_ratio_, cap_, heat_, ecc_rate_, nvlink_rate_;
  std::vector<float> retransmit_rate_, leaked_, io_;
  std::vector<float> gpu_speed_, node_speed_;
  std::vector<int> slow_for_;  // by fault
  // The constant properties of each GPU, and state that persists.
  std::vector<float> power_habit_, clock_habit_, heat_habit_, ecc_habit_, wander_, slow_wander_;
  std::vector<float> rack_heat_, rack_goal_;
  std::vector<int> silent_until_, ghost_until_;  // by node
  std::vector<int> job_of_node_;                 // index in jobs_

  std::vector<std::int32_t> gpu_jobs_, node_jobs_, job_ids_;
  std::vector<float> utilization_, power_, clock_, temperature_, memory_, pressure_, throughput_,
      predicted_;
  std::vector<double> ecc_, nvlink_, pcie_, retransmissions_;  // as they are told
  std::vector<double> counted_ecc_, counted_nvlink_, counted_pcie_, counted_retransmissions_;
  std::vector<float> heat_now_;             // C, as it is
  std::array<std::vector<float>, 4> held_;  // of ghosts: the last values
};

}  // namespace galen::testing

#endif  // TESTS_TESTING_DETECTION_MADE_UP_FLEET_H_
