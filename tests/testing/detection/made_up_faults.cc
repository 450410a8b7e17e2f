// The faults of a synthetic fleet: their beginning, their effects, and when they show.
#include <algorithm>
#include <cmath>

#include "tests/testing/detection/made_up_fleet.h"

namespace galen::testing {
namespace {

constexpr float kHot = 83;            // C, above which clocks fall
constexpr float kOverlapped = 0.15F;  // share of time waiting for data that a job does not feel
constexpr double kFirstEcc = 0.1;     // a minute
constexpr double kFirstReplays = 0.02;
constexpr double kFirstRetransmits = 2;
constexpr int kNoticed10 = 10;
constexpr int kNoticed30 = 30;

double Grown(double from, double to, double progress) {
  return from * std::pow(to / from, progress);
}

// A job that computes for 85 % of its time on this GPU (judgement).
float SpeedOf(float ratio) { return 1 / (0.85F / ratio + 0.15F); }

}  // namespace

const char* NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kClockLow:
      return "clock held low";
    case FaultKind::kPowerCap:
      return "power cap";
    case FaultKind::kThermal:
      return "thermal throttling";
    case FaultKind::kMemory:
      return "memory errors";
    case FaultKind::kNvlink:
      return "NVLink degraded";
    case FaultKind::kRdma:
      return "RDMA retransmissions";
    case FaultKind::kHostLeak:
      return "host memory leak";
    case FaultKind::kSlowStorage:
      return "slow storage";
  }
  return "";
}

int MadeUpFleet::Ramp(float low, float high) {
  return static_cast<int>(low * std::pow(high / low, Uniform()));
}

void MadeUpFleet::Plant() {
  const int training = std::max(1, shape_.nodes * 4 / 5);
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) {
    for (int n = 0; n < shape_.faults; ++n) {
      PlantedFault fault;
      fault.kind = static_cast<FaultKind>(kind);
      fault.node = Int(0, training);
      fault.begin = Int(shape_.minutes / 30, shape_.minutes * 27 / 30);
      fault.gpu = Int(0, shape_.gpus);
      fault.end = shape_.minutes;
      const bool at_once = Chance(0.3);
      switch (fault.kind) {
        case FaultKind::kClockLow:
          fault.ramp = at_once ? 1 : Int(60, 480);
          fault.steps = at_once ? 1 : Int(3, 8);
          fault.depth = static_cast<double>(Between(0.14F, 0.75F));
          break;
        case FaultKind::kPowerCap:
          fault.ramp = at_once ? 1 : Int(60, 480);
          fault.steps = at_once ? 1 : Int(3, 8);
          fault.depth = static_cast<double>(Between(150, 250));
          break;
        case FaultKind::kThermal:
          fault.ramp = Ramp(20, 1440);
          fault.depth = static_cast<double>(Between(26, 38));
          break;
        case FaultKind::kMemory:
          fault.ramp = Ramp(60, 4320);
          fault.sudden = Chance(0.15);
          fault.depth = static_cast<double>(Between(50, 500));
          break;
        case FaultKind::kNvlink:
          fault.ramp = Ramp(5, 1440);
          fault.depth = static_cast<double>(Between(5, 30));
          break;
        case FaultKind::kRdma:
          fault.ramp = Ramp(5, 720);
          fault.depth = static_cast<double>(Between(2000, 8000));
          fault.gpu = -1;
          break;
        case FaultKind::kHostLeak:
          fault.ramp = Ramp(60, 2880);
          fault.depth = 1;
          fault.gpu = -1;
          break;
        case FaultKind::kSlowStorage:
          fault.ramp = Ramp(5, 480);
          fault.depth = static_cast<double>(Between(0.4F, 0.8F));
          fault.gpu = -1;
          break;
      }
      faults_.push_back(fault);
    }
  }
  // No two at a time on one machine.
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (faults_[i].node == faults_[j].node) {
        faults_[i].node = Int(0, training);
        j = static_cast<std::size_t>(-1);
        if (faults_.size() >= static_cast<std::size_t>(training)) break;
      }
    }
  }
}

double MadeUpFleet::Progress(const PlantedFault& fault) const {
  const double p = std::min(1.0, static_cast<double>(minute_ - fault.begin) / fault.ramp);
  return fault.steps == 0 ? p : std::min(1.0, (std::floor(p * fault.steps) + 1) / fault.steps);
}

// Begins where a job works, and one that dies of it, or waits for its storage, has the time for it.
void MadeUpFleet::Settle(PlantedFault& fault) {
  const Job* const job = JobOn(fault.node);
  const bool of_job = fault.kind == FaultKind::kHostLeak || fault.kind == FaultKind::kSlowStorage;
  if (minute_ == fault.begin) {
    const bool fits = job != nullptr && job->trains && minute_ - job->began >= 60 &&
                      (!of_job || job->end > minute_ + fault.ramp + 60);
    if (fits) {
      fault.job = job->id;
    } else if (fault.begin < shape_.minutes) {
      // Other machines may have what it needs.
      fault.begin += 10;
      const int training = std::max(1, shape_.nodes * 4 / 5);
      const int node = Int(0, training);
      const bool taken = std::any_of(faults_.begin(), faults_.end(),
                                     [&](const PlantedFault& each) { return each.node == node; });
      if (!taken) fault.node = node;
    }
  }
  if (minute_ > fault.begin && of_job && (job == nullptr || job->id != fault.job)) {
    fault.end = std::min(fault.end, minute_);
  }
}

void MadeUpFleet::Apply(const PlantedFault& fault) {
  const double p = Progress(fault);
  const auto node = static_cast<std::size_t>(fault.node);
  const auto gpu = static_cast<std::size_t>(fault.node * shape_.gpus + std::max(fault.gpu, 0));
  switch (fault.kind) {
    case FaultKind::kClockLow:
      clock_ratio_[gpu] = static_cast<float>(1 - (1 - fault.depth) * p);
      break;
    case FaultKind::kPowerCap:
      cap_[gpu] = static_cast<float>(kFleetLimitWatts - (kFleetLimitWatts - fault.depth) * p);
      break;
    case FaultKind::kThermal:
      heat_[gpu] = static_cast<float>(fault.depth * p);
      break;
    case FaultKind::kMemory:
      if (!fault.sudden) ecc_rate_[gpu] = static_cast<float>(Grown(kFirstEcc, fault.depth, p));
      break;
    case FaultKind::kNvlink:
      nvlink_rate_[gpu] = static_cast<float>(Grown(kFirstReplays, fault.depth, p));
      break;
    case FaultKind::kRdma:
      retransmit_rate_[node] = static_cast<float>(Grown(kFirstRetransmits, fault.depth, p));
      break;
    case FaultKind::kHostLeak:
      leaked_[node] = static_cast<float>(fault.depth * p);
      break;
    case FaultKind::kSlowStorage:
      if (const Job* job = JobOn(fault.node); job != nullptr && job->id == fault.job) {
        for (const int each : job->nodes) {
          io_[static_cast<std::size_t>(each)] = static_cast<float>(fault.depth * p);
        }
      }
      break;
  }
}

void MadeUpFleet::ApplyFaults() {
  std::fill(clock_ratio_.begin(), clock_ratio_.end(), 1.0F);
  std::fill(cap_.begin(), cap_.end(), kFleetLimitWatts);
  std::fill(node_speed_.begin(), node_speed_.end(), 1.0F);
  for (auto* each : {&heat_, &ecc_rate_, &nvlink_rate_, &retransmit_rate_, &leaked_, &io_}) {
    std::fill(each->begin(), each->end(), 0.0F);
  }
  for (PlantedFault& fault : faults_) {
    if (minute_ < fault.begin || minute_ >= fault.end) continue;
    Settle(fault);
    if (minute_ >= fault.begin && minute_ < fault.end) Apply(fault);
  }
  for (const PlannedWork& work : planned_) {
    if (minute_ < work.from || minute_ >= work.until) continue;
    for (int gpu = 0; gpu < shape_.gpus; ++gpu) {
      clock_ratio_[static_cast<std::size_t>(work.node * shape_.gpus + gpu)] = 0.7F;
    }
  }
  for (int node = 0; node < shape_.nodes; ++node) {
    const auto n = static_cast<std::size_t>(node);
    const Job* const job = JobOn(node);
    for (int gpu = 0; gpu < shape_.gpus; ++gpu) {
      const auto i = static_cast<std::size_t>(node * shape_.gpus + gpu);
      float& ratio = clock_ratio_[i];
      if (heat_now_[i] > kHot) ratio *= std::max(0.3F, 1 - 0.03F * (heat_now_[i] - kHot));
      if (job != nullptr && job->trains && cap_[i] < kFleetLimitWatts) {
        const float wants = job->power * kFleetLimitWatts;
        if (wants > cap_[i]) {
          ratio *= std::pow((cap_[i] - kFleetIdleWatts) / (wants - kFleetIdleWatts), 1 / 1.8F);
        }
      }
      gpu_speed_[i] = SpeedOf(ratio);
      if (nvlink_rate_[i] > 0.5F) {
        gpu_speed_[i] *= std::max(0.3F, 1 - 0.12F * std::log2(nvlink_rate_[i] / 0.5F));
      }
      node_speed_[n] = std::min(node_speed_[n], gpu_speed_[i]);
    }
    if (retransmit_rate_[n] > 300) {
      node_speed_[n] *= std::max(0.3F, 1 - 0.08F * std::log2(retransmit_rate_[n] / 300));
    }
    if (io_[n] > kOverlapped) node_speed_[n] *= 1 - (io_[n] - kOverlapped);
  }
}

// The time when it shows, and the time of its repair.
void MadeUpFleet::SeeFaults() {
  for (std::size_t f = 0; f < faults_.size(); ++f) {
    PlantedFault& fault = faults_[f];
    if (minute_ < fault.begin || minute_ >= fault.end) continue;
    const int index = job_of_node_[static_cast<std::size_t>(fault.node)];
    Job* const job = index < 0 ? nullptr : &jobs_[static_cast<std::size_t>(index)];
    if (job != nullptr && (fault.jobs.empty() || fault.jobs.back() != job->id)) {
      fault.jobs.push_back(job->id);
    }
    const bool works = job != nullptr && job->trains;
    const bool ends = fault.kind == FaultKind::kMemory || fault.kind == FaultKind::kHostLeak;
    if (works && ends && minute_ - fault.begin >= fault.ramp) {
      fault.died = true;
      fault.visible10 = fault.visible30 = minute_;
      fault.end = minute_ + 1;
      job->dies = true;
      continue;
    }
    const bool planned =
        std::any_of(planned_.begin(), planned_.end(), [&](const PlannedWork& work) {
          return work.node == fault.node && minute_ >= work.from && minute_ < work.until;
        });
    const bool slow = works && !planned && node_speed_[static_cast<std::size_t>(fault.node)] < 0.9F;
    int& slow_for = slow_for_[f];
    slow_for = slow ? slow_for + 1 : 0;
    if (slow_for == kNoticed10 && fault.visible10 < 0) fault.visible10 = minute_;
    if (slow_for == kNoticed30 && fault.visible30 < 0) {
      fault.visible30 = minute_;
      fault.end = std::min(fault.end, minute_ + Int(60, 360));
    }
    if (minute_ - fault.begin > fault.ramp + 4 * 1440) fault.end = minute_ + 1;
    if (minute_ + 1 == fault.end && job != nullptr) job->dies = true;  // and restarts
  }
}

}  // namespace galen::testing
