#include "tests/testing/detection/made_up_fleet.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace galen::testing {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kPool = 16384;
constexpr float kClock = 1410;
constexpr float kPowerOfClock = 1.8F;  // (judgement: between linear and square of voltage)

}  // namespace

std::uint64_t MadeUpFleet::Random() {  // xorshift128+ (Vigna 2014)
  std::uint64_t a = state_[0];
  const std::uint64_t b = state_[1];
  state_[0] = b;
  a ^= a << 23;
  state_[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
  return state_[1] + b;
}

int MadeUpFleet::Int(int low, int high) {
  return low + static_cast<int>(Random() % static_cast<std::uint64_t>(std::max(1, high - low)));
}

// As many normal deviates as there are GPUs, out of a pool.
const float* MadeUpFleet::Noise() {
  const auto most = kPool - static_cast<std::size_t>(shape_.nodes * shape_.gpus) % kPool;
  return pool_.data() + Random() % most;
}

double MadeUpFleet::Poisson(double mean) {
  if (mean <= 0) return 0;
  if (mean > 30) {
    return std::max(0.0, std::round(mean + std::sqrt(mean) * pool_[Random() % pool_.size()]));
  }
  const double limit = std::exp(-mean);
  double product = Uniform();
  double count = 0;
  while (product > limit) {
    product *= Uniform();
    ++count;
  }
  return count;
}

MadeUpFleet::MadeUpFleet(const FleetShape& shape, std::uint64_t seed)
    : shape_(shape), state_{seed * 0x9E3779B97F4A7C15ULL + 1, 0xD1B54A32D192ED03ULL ^ seed} {
  for (int i = 0; i < 20; ++i) Random();
  const auto nodes = static_cast<std::size_t>(shape_.nodes);
  const std::size_t gpus = nodes * static_cast<std::size_t>(shape_.gpus);
  pool_.resize(kPool + gpus);
  for (float& value : pool_) {
    const float r = std::sqrt(-2 * std::log(std::max(Uniform(), 1e-7F)));
    value = r * std::cos(2 * std::numbers::pi_v<float> * Uniform());
  }
  for (auto* each : {&clock_ratio_, &cap_, &heat_, &ecc_rate_, &nvlink_rate_, &gpu_speed_, &wander_,
                     &slow_wander_, &utilization_, &power_, &clock_, &temperature_}) {
    each->assign(gpus, 0);
  }
  for (auto* each : {&retransmit_rate_, &leaked_, &io_, &node_speed_, &memory_, &pressure_,
                     &throughput_, &predicted_}) {
    each->assign(nodes, 0);
  }
  for (auto* each : {&ecc_, &nvlink_, &pcie_, &counted_ecc_, &counted_nvlink_, &counted_pcie_}) {
    each->assign(gpus, 0);
  }
  retransmissions_.assign(nodes, 0);
  counted_retransmissions_.assign(nodes, 0);
  for (std::size_t i = 0; i < gpus; ++i) {
    power_habit_.push_back(1 + 0.02F * pool_[i]);
    clock_habit_.push_back(1 + 0.003F * pool_[i + 2000]);
    heat_habit_.push_back(2.5F * pool_[i + 4000]);
    ecc_habit_.push_back(Chance(0.005) ? Between(0.1F, 0.8F) : 0.0F);
  }
  heat_now_.assign(gpus, 35);
  gpu_jobs_.assign(gpus, -1);
  node_jobs_.assign(nodes, -1);
  job_ids_.assign(nodes, -1);
  job_of_node_.assign(nodes, -1);
  free_at_.assign(nodes, 0);
  silent_until_.assign(nodes, -1);
  ghost_until_.assign(nodes, -1);
  rack_heat_.assign(nodes / 16 + 1, 0);
  rack_goal_.assign(nodes / 16 + 1, 0);
  for (auto& each : held_) each.assign(gpus, kMissing);
  Plant();
  slow_for_.assign(faults_.size(), 0);
  for (int week = 0; week * 7 * 1440 < shape_.minutes; ++week) {
    const int from = week * 7 * 1440 + 3 * 1440 + 600;
    const int first = 16 * Int(0, std::max(1, shape_.nodes / 16));
    for (int node = first; node < std::min(first + 16, shape_.nodes); ++node) {
      planned_.push_back({from, from + 120, node});
    }
  }
}

const MadeUpFleet::Job* MadeUpFleet::JobOn(int node) const {
  const int job = job_of_node_[static_cast<std::size_t>(node)];
  return job < 0 ? nullptr : &jobs_[static_cast<std::size_t>(job)];
}

void MadeUpFleet::Start(std::vector<int> nodes, bool trains) {
  Job job;
  job.id = next_job_++;
  job.nodes = std::move(nodes);
  job.trains = trains;
  job.began = minute_;
  job.end = trains ? minute_ + static_cast<int>(std::exp(Between(5.5F, 8.9F))) : shape_.minutes;
  job.power = Between(0.72F, 0.95F);
  job.level = Between(800, 4000);
  job.checkpoint_every = Int(30, 90);
  job.checkpoint_takes = Int(1, 9);
  job.change_at = Chance(0.05) ? Int(minute_, job.end) : std::numeric_limits<int>::max();
  job.change = Between(0.93F, 1.05F);
  job.tells = !Chance(0.05);
  job.fills = Between(0, 0.2F);
  job.clock = trains ? Between(0.82F, 1) : Between(0.9F, 1);
  job.memory = Between(0.05F, 0.45F);
  job.reads = 0.005F * std::pow(14.0F, Uniform());
  job.imbalance = Chance(0.2) ? 1.0F : 0.0F;
  job.stages = Chance(0.5) ? 0.03F : 0.0F;
  job.round = Int(300, 1500);
  const auto index = static_cast<int>(jobs_.size());
  for (const int node : job.nodes) {
    const auto at = static_cast<std::size_t>(node);
    job_of_node_[at] = index;
    node_jobs_[at] = job.id;
    free_at_[at] = -1;
    for (int gpu = 0; gpu < shape_.gpus; ++gpu) {
      gpu_jobs_[at * static_cast<std::size_t>(shape_.gpus) + static_cast<std::size_t>(gpu)] =
          job.id;
    }
  }
  job_ids_[static_cast<std::size_t>(job.nodes.front())] = job.id;
  jobs_.push_back(std::move(job));
}

void MadeUpFleet::Stop(Job& job, int pause) {
  for (const int node : job.nodes) {
    const auto at = static_cast<std::size_t>(node);
    job_of_node_[at] = -1;
    node_jobs_[at] = -1;
    job_ids_[at] = -1;
    free_at_[at] = minute_ + pause;
    for (int gpu = 0; gpu < shape_.gpus; ++gpu) {
      gpu_jobs_[at * static_cast<std::size_t>(shape_.gpus) + static_cast<std::size_t>(gpu)] = -1;
    }
  }
  job.nodes.clear();
}

void MadeUpFleet::Schedule() {
  for (Job& job : jobs_) {
    if (!job.nodes.empty() && (minute_ >= job.end || job.dies)) Stop(job, Int(5, 60));
  }
  const int training = shape_.nodes * 4 / 5;
  std::vector<int> free;
  for (int node = 0; node < shape_.nodes; ++node) {
    const int at = free_at_[static_cast<std::size_t>(node)];
    if (at < 0 || at > minute_) continue;
    if (node >= training) {
      Start({node}, false);
    } else {
      free.push_back(node);
    }
  }
  while (!free.empty()) {
    const auto size = std::min<std::size_t>(std::size_t{1} << Int(0, 6), free.size());
    Start({free.end() - static_cast<std::ptrdiff_t>(size), free.end()}, true);
    free.resize(free.size() - size);
  }
}

void MadeUpFleet::StepJobs() {
  for (Job& job : jobs_) {
    if (job.nodes.empty()) continue;
    const int age = minute_ - job.began;
    job.pauses = job.trains && (age < 4 || age % job.checkpoint_every < job.checkpoint_takes);
    job.congestion = std::max(0.0F, job.congestion * 0.98F + Between(-0.05F, 0.15F));
    if (Chance(1.0 / 3000)) job.congestion += Between(20, 200);
    job.speed = 1;
    for (const int node : job.nodes) {
      job.speed = std::min(job.speed, node_speed_[static_cast<std::size_t>(node)]);
    }
  }
  throughput_.assign(throughput_.size(), kMissing);
  predicted_.assign(predicted_.size(), kMissing);
  for (const Job& job : jobs_) {
    if (job.nodes.empty() || !job.trains || !job.tells) continue;
    const auto slot = static_cast<std::size_t>(job.nodes.front());
    const float change = minute_ >= job.change_at ? job.change : 1;
    const float pause = job.pauses ? 0.3F : 1;
    throughput_[slot] =
        job.level * change * job.speed * pause * (1 + 0.012F * pool_[Random() % pool_.size()]);
    predicted_[slot] = job.level * 0.92F;
  }
}

void MadeUpFleet::StepGpus() {
  const float day = 0.5F - 0.5F * std::cos(2 * std::numbers::pi_v<float> *
                                           static_cast<float>(minute_ % 1440 - 240) / 1440);
  const float* const power_noise = Noise();
  const float* const clock_noise = Noise();
  const float* const heat_noise = Noise();
  const float* const load_noise = Noise();
  const float* const slow_noise = Noise();
  for (int node = 0; node < shape_.nodes; ++node) {
    const Job* const job = JobOn(node);
    const float stage =
        job == nullptr
            ? 1
            : 1 + job->stages * pool_[static_cast<std::size_t>(job->id * 131 + node) % kPool];
    const float rack = rack_heat_[static_cast<std::size_t>(SwitchOf(node))];
    for (int gpu = 0; gpu < shape_.gpus; ++gpu) {
      const auto i = static_cast<std::size_t>(node * shape_.gpus + gpu);
      float load = 0;
      float watts = kFleetIdleWatts;
      wander_[i] = 0.97F * wander_[i] + 0.002F * load_noise[i];
      slow_wander_[i] = 0.998F * slow_wander_[i] + 0.0012F * slow_noise[i];
      if (job != nullptr && job->trains && !job->pauses) {
        load = std::clamp(0.985F + 0.006F * load_noise[i], 0.0F, 1.0F);
        const float full = (job->power * kFleetLimitWatts - kFleetIdleWatts) * power_habit_[i];
        const float busy = job->speed / std::max(gpu_speed_[i], job->speed);
        const float own = std::pow(clock_ratio_[i], kPowerOfClock);
        watts += full * (busy * own + (1 - busy) * 0.35F) *
                 (1 + wander_[i] + job->imbalance * slow_wander_[i] + 0.015F * power_noise[i]) *
                 stage;
      } else if (job != nullptr && !job->trains) {
        load = std::clamp(0.2F + 0.6F * day + 0.08F * load_noise[i], 0.02F, 1.0F);
        watts += 240 * load * power_habit_[i] * std::pow(clock_ratio_[i], kPowerOfClock) +
                 3 * power_noise[i];
      } else {
        load = job != nullptr ? 0.05F : 0;
        watts += (job != nullptr ? 25 : 0) + 2 * power_noise[i];
      }
      const float ratio = load > 0 ? clock_ratio_[i] * (job != nullptr ? job->clock : 1) : 0.3F;
      heat_now_[i] +=
          0.2F * (31 + 0.085F * watts + heat_habit_[i] + rack + heat_[i] - heat_now_[i]);
      utilization_[i] = 100 * load;
      power_[i] = watts;
      clock_[i] =
          15 * std::round(kClock / 15 * ratio * (clock_habit_[i] + 0.004F * clock_noise[i]));
      temperature_[i] = std::round(heat_now_[i] + 0.4F * heat_noise[i]);
      if (const float rate = ecc_rate_[i] + ecc_habit_[i]; rate > 0) {
        counted_ecc_[i] += Poisson(static_cast<double>(rate));
      }
      if (nvlink_rate_[i] > 0) counted_nvlink_[i] += Poisson(nvlink_rate_[i]);
      counted_pcie_[i] += load > 0.5F && Chance(0.2) ? Int(0, ecc_habit_[i] > 0 ? 60 : 6) : 0;
    }
  }
  // Errors that mean nothing.
  const auto gpus = static_cast<double>(utilization_.size());
  for (double n = Poisson(gpus * 0.002); n > 0; --n) {
    const auto i = Random() % utilization_.size();
    if (Chance(0.1)) counted_ecc_[i] += Int(1, 8);
  }
  for (double n = Poisson(gpus * 2e-5); n > 0; --n) {
    counted_nvlink_[Random() % utilization_.size()] += Int(1, 3);
  }
}

void MadeUpFleet::StepNodes() {
  for (int node = 0; node < shape_.nodes; ++node) {
    const auto i = static_cast<std::size_t>(node);
    const Job* const job = JobOn(node);
    float used = 0.2F + 0.01F * pool_[i];
    float waits = 0.01F * Uniform();
    double retransmits = retransmit_rate_[i];
    if (job != nullptr) {
      const int age = minute_ - job->began;
      waits += job->reads * Between(0.5F, 1.5F);
      used += job->memory +
              job->fills * static_cast<float>(age % job->round) / static_cast<float>(job->round);
      if (job->trains && job->pauses) waits += Between(0.1F, 0.5F);
      if (job->nodes.size() > 1)
        retransmits += static_cast<double>(job->congestion * Between(0.5F, 1.5F));
    }
    counted_retransmissions_[i] += job != nullptr ? Poisson(retransmits) : 0;
    memory_[i] =
        std::clamp((1 - used) * (1 - leaked_[i]) + 0.003F * pool_[Random() % kPool], 0.005F, 1.0F);
    pressure_[i] = std::clamp(waits + io_[i] * Between(0.8F, 1.2F), 0.0F, 1.0F);
  }
  for (std::size_t rack = 0; rack < rack_heat_.size(); ++rack) {
    if (Chance(1.0 / 4000)) rack_goal_[rack] = Chance(0.5) ? 0 : Between(1, 6);
    rack_heat_[rack] += 0.01F * (rack_goal_[rack] - rack_heat_[rack]);
  }
}

// Distorts the values as a monitor does.
void MadeUpFleet::Spoil() {
  ecc_ = counted_ecc_;
  nvlink_ = counted_nvlink_;
  pcie_ = counted_pcie_;
  retransmissions_ = counted_retransmissions_;
  std::array<std::vector<float>*, 4> values = {&utilization_, &power_, &clock_, &temperature_};
  for (std::size_t v = 0; v < values.size(); ++v) {
    std::vector<float>& column = *values[v];
    for (double n = Poisson(0.004 * static_cast<double>(column.size())); n > 0; --n) {
      column[Random() % column.size()] = kMissing;
    }
  }
  for (double n = Poisson(0.004 * static_cast<double>(ecc_.size())); n > 0; --n) {
    const auto i = Random() % ecc_.size();
    ecc_[i] = nvlink_[i] = pcie_[i] = kMissing;
  }
  const auto per_node = static_cast<std::size_t>(shape_.gpus);
  for (std::size_t node = 0; node < memory_.size(); ++node) {
    if (Chance(1.0 / 20000)) silent_until_[node] = minute_ + Int(5, 90);
    if (Chance(1.0 / 60000)) ghost_until_[node] = minute_ + Int(30, 240);
    if (Chance(1.0 / 40000)) {  // a driver restarts
      for (std::size_t i = node * per_node; i < (node + 1) * per_node; ++i) {
        counted_ecc_[i] = counted_nvlink_[i] = counted_pcie_[i] = 0;
      }
      counted_retransmissions_[node] = 0;
    }
    const bool silent = minute_ < silent_until_[node];
    const bool ghost = minute_ < ghost_until_[node];
    for (std::size_t i = node * per_node; i < (node + 1) * per_node; ++i) {
      for (std::size_t v = 0; v < values.size(); ++v) {
        float& value = (*values[v])[i];
        if (ghost) value = held_[v][i];
        if (!std::isnan(value)) held_[v][i] = value;
        if (silent) value = kMissing;
      }
      if (silent) ecc_[i] = nvlink_[i] = pcie_[i] = kMissing;
    }
    if (silent) retransmissions_[node] = memory_[node] = pressure_[node] = kMissing;
  }
}

bool MadeUpFleet::Next() {
  if (++minute_ >= shape_.minutes) return false;
  Schedule();
  ApplyFaults();
  StepJobs();
  StepGpus();
  StepNodes();
  SeeFaults();
  Spoil();
  return true;
}

}  // namespace galen::testing
