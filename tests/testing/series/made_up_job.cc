#include "tests/testing/series/made_up_job.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace galen::testing {
namespace {

using series::Panel;

// splitmix64 (Steele, Lea, Flood 2014): the same everywhere.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  double Between(double low, double high) {
    return low + (high - low) * static_cast<double>(Bits() >> 11) * 0x1p-53;
  }
  double LogBetween(double low, double high) {
    return std::exp(Between(std::log(low), std::log(high)));
  }
  bool Happens(double share) { return Between(0, 1) < share; }
  std::size_t Below(std::size_t n) { return static_cast<std::size_t>(Bits() % n); }
  // Nearly normal, of deviation 1: the sum of four.
  float Normal() {
    const std::uint64_t bits = Bits();
    const auto sum = static_cast<std::int32_t>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) +
                                               ((bits >> 32) & 0xFFFF) + (bits >> 48));
    return static_cast<float>(sum - 131070) * (1.0F / 37837.2F);
  }

 private:
  std::uint64_t state_;
};

enum Group : std::uint8_t { kCpu, kGpu, kPfc, kThroughput, kDisk, kMemory, kHeat, kGroups };

struct Metric {
  Group group;
  double level;
  double noise;  // share of the level
  double busy;   // share of the level that goes when the job stands still
};

constexpr std::array<Metric, 20> kMetrics = {{
    {kGpu, 92, 0.03, 0.9},             // duty cycle
    {kGpu, 620, 0.04, 0.6},            // power
    {kHeat, 61, 0.015, 0.3},           // temperature
    {kGpu, 1700, 0.01, 0.1},           // clock
    {kGpu, 0.71, 0.05, 0.9},           // SM activity
    {kGpu, 0.44, 0.06, 0.9},           // tensor activity
    {kMemory, 6.1e10, 0.004, 0.05},    // GPU memory used
    {kGpu, 0.38, 0.06, 0.9},           // memory bandwidth
    {kThroughput, 2.1e10, 0.08, 0.9},  // NVLink
    {kThroughput, 9e9, 0.08, 0.9},     // PCIe
    {kThroughput, 4.2e10, 0.07, 0.9},  // RDMA sent
    {kThroughput, 4.2e10, 0.07, 0.9},  // RDMA received
    {kPfc, 40, 0.5, 0.5},              // pauses
    {kPfc, 900, 0.4, 0.5},             // CNP
    {kThroughput, 3e6, 0.2, 0.5},      // TCP
    {kCpu, 31, 0.06, 0.4},             // CPU
    {kCpu, 18, 0.1, 0.4},              // run queue
    {kMemory, 4.1e11, 0.005, 0.02},    // host memory
    {kDisk, 2.5e7, 0.4, 0.3},          // disk written
    {kDisk, 0.2, 0.4, 0.3},            // disk wait
}};

struct Kind {
  const char* name;
  double weight;
  // How likely each group of metrics is moved: CPU, GPU, PFC, throughput, disk, memory, heat.
  std::array<double, kGroups> moves;
};

constexpr std::array<Kind, 10> kKinds = {{
    {"ecc_error", 30, {0.8, 0.65, 0.1, 0.45, 0.1, 0.55, 0.3}},
    {"pcie_downgrade", 8, {0.1, 0.3, 1.0, 0.5, 0, 0.05, 0.05}},
    {"nic_dropout", 7, {0.7, 0.8, 0.1, 1.0, 0.05, 0.4, 0.3}},
    {"gpu_drop", 16, {0.7, 0.8, 0.1, 0.6, 0.1, 0.7, 0.5}},
    {"nvlink_error", 6, {0.5, 0.7, 0.1, 0.8, 0, 0.2, 0.2}},
    {"optics_error", 4, {0.1, 0.2, 0.9, 0.8, 0, 0.05, 0.05}},
    {"cuda_error", 12, {0.7, 0.7, 0.1, 0.5, 0.05, 0.5, 0.3}},
    {"overheating", 6, {0.05, 0.7, 0, 0.2, 0, 0, 1.0}},
    {"storage_stall", 5, {0.6, 0.3, 0, 0.2, 0.9, 0.3, 0.05}},
    {"unreachable", 6, {0, 0, 0, 0, 0, 0, 0}},
}};

const Kind& ChooseKind(Chance& chance) {
  double total = 0;
  for (const Kind& kind : kKinds) total += kind.weight;
  double at = chance.Between(0, total);
  for (const Kind& kind : kKinds) {
    if ((at -= kind.weight) < 0) return kind;
  }
  return kKinds[0];
}

class Maker {
 public:
  Maker(const JobShape& shape, std::uint64_t seed)
      : machines_(shape.machines),
        seconds_(shape.seconds),
        count_(std::min(shape.metrics, kMetrics.size())),
        chance_(seed) {
    stages_ = std::size_t{1} << chance_.Below(3);
    for (std::size_t m = 0; m < count_; ++m) job_.metrics.emplace_back(machines_, seconds_);
  }

  MadeUpJob Make() {
    Common();
    Fill();
    Racks();
    Fault();
    Blips();
    Missing();
    Hang();
    return std::move(job_);
  }

 private:
  double Noise(std::size_t m) const { return kMetrics[m].level * kMetrics[m].noise; }

  // Adds `by` (noises) to a machine's metric over a stretch, coming over `ramp` seconds.
  void Shift(std::size_t m, std::size_t machine, std::size_t begin, std::size_t end, double by,
             double ramp) {
    const absl::Span<float> row = job_.metrics[m].Row(machine);
    for (std::size_t t = begin; t < std::min(end, seconds_); ++t) {
      const double share = ramp > 0 ? std::min(1.0, static_cast<double>(t - begin + 1) / ramp) : 1;
      row[t] += static_cast<float>(by * share * Noise(m));
    }
  }

  // The common behaviour of all machines of a stage.
  void Common() {
    common_.assign(count_ * stages_ * seconds_, 0);
    const double period = chance_.Between(3, 20);
    struct Phase {
      double begin, end, depth;
    };
    std::vector<Phase> phases;
    for (std::size_t i = chance_.Below(4); i > 0; --i) {
      const double begin = chance_.Between(20, static_cast<double>(seconds_) - 60);
      phases.push_back({begin, begin + chance_.Between(20, 90), chance_.Between(0.3, 1)});
    }
    if (chance_.Happens(0.3)) {
      phases.push_back({chance_.Between(100, static_cast<double>(seconds_) - 100), 1e9,
                        chance_.Between(0.05, 0.3)});
    }
    for (std::size_t m = 0; m < count_; ++m) {
      const Metric& metric = kMetrics[m];
      const double swing = chance_.Between(0, 2) * Noise(m);
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        const double level = metric.level * chance_.Between(0.9, 1.1);
        const double turn = chance_.Between(0, 6.28);
        float* const to = common_.data() + (m * stages_ + stage) * seconds_;
        const double depth_here = chance_.Between(0.8, 1.2);
        for (std::size_t t = 0; t < seconds_; ++t) {
          double now = level + swing * std::sin(6.2832 * static_cast<double>(t) / period + turn);
          for (const Phase& phase : phases) {
            if (static_cast<double>(t) >= phase.begin && static_cast<double>(t) < phase.end) {
              const double sign = metric.group == kDisk ? -3 : 1;
              now -= sign * level * metric.busy * std::min(1.0, phase.depth * depth_here);
            }
          }
          to[t] = static_cast<float>(now);
        }
      }
    }
  }

  void Fill() {
    std::vector<std::size_t> late(machines_);
    for (std::size_t& l : late) l = chance_.Below(4);
    for (std::size_t m = 0; m < count_; ++m) {
      const auto noise = static_cast<float>(Noise(m));
      const auto memory = static_cast<float>(chance_.Between(0.2, 0.8));
      const auto fresh = std::sqrt(1 - memory * memory) * noise;
      const float slow = 1 - 1.0F / 100;
      const float slow_fresh =
          std::sqrt(1 - slow * slow) * noise * static_cast<float>(chance_.Between(0.05, 0.3));
      const double differ = chance_.Between(0.2, 1.5);
      for (std::size_t i = 0; i < machines_; ++i) {
        const float* const common =
            common_.data() + (m * stages_ + i * stages_ / machines_) * seconds_;
        const absl::Span<float> row = job_.metrics[m].Row(i);
        const auto offset = static_cast<float>(chance_.Normal() * differ) * noise;
        float quick = noise * chance_.Normal();
        float wander = slow_fresh * 7 * chance_.Normal();
        for (std::size_t t = 0; t < seconds_; ++t) {
          row[t] = common[t < late[i] ? 0 : t - late[i]] + offset + quick + wander;
          quick = memory * quick + fresh * chance_.Normal();
          wander = slow * wander + slow_fresh * chance_.Normal();
        }
        for (std::size_t wild = chance_.Below(4); wild > 0; --wild) {
          row[chance_.Below(seconds_)] += noise * static_cast<float>(chance_.Between(-20, 20));
        }
      }
    }
  }

  void Racks() {
    const auto rack = [&](auto each) {
      const std::size_t size = std::min(machines_ / 10, 4 + chance_.Below(20));
      const std::size_t first = chance_.Below(machines_ - size);
      for (std::size_t i = first; i < first + size; ++i) each(i);
    };
    for (std::size_t n = chance_.Below(3); n > 0; --n) {
      for (std::size_t k = 1 + chance_.Below(3); k > 0; --k) {
        const std::size_t m = chance_.Below(count_);
        const double by = chance_.Between(3, 8) * (chance_.Happens(0.5) ? 1 : -1);
        rack([&](std::size_t i) { Shift(m, i, 0, seconds_, by, 0); });
      }
    }
    if (!chance_.Happens(0.3)) return;
    const std::size_t begin = chance_.Below(seconds_ / 2);
    const double by = chance_.Between(2, 8);
    rack([&](std::size_t i) {
      Shift(2, i, begin, seconds_, by * chance_.Between(0.8, 1.2), 200);
      if (count_ > 3) Shift(1, i, begin, seconds_, by * 0.5, 200);
    });
  }

  void Fault() {
    if (!chance_.Happens(0.8)) return;
    const Kind& kind = ChooseKind(chance_);
    const std::size_t machine = chance_.Below(machines_);
    const std::size_t onset = 200 + chance_.Below(seconds_ - 420);
    job_.faulty = machine;
    job_.onset = onset;
    job_.kind = kind.name;
    if (job_.kind == "unreachable") {
      for (Panel& metric : job_.metrics) {
        const absl::Span<float> row = metric.Row(machine);
        std::fill(row.begin() + static_cast<std::ptrdiff_t>(onset), row.end(), series::kUnknown);
      }
    } else {
      const std::size_t end =
          chance_.Happens(0.7) ? seconds_ : onset + 180 + chance_.Below(seconds_ - onset - 180);
      const double ramp = chance_.Happens(0.5) ? 1 : chance_.Between(1, 60);
      bool any = false;
      while (!any) {
        for (std::size_t m = 0; m < count_; ++m) {
          // Half of the metrics of a group that is moved show it.
          if (!chance_.Happens(0.5 * kind.moves[kMetrics[m].group])) continue;
          any = true;
          const bool up =
              kMetrics[m].group == kPfc || kMetrics[m].group == kHeat || chance_.Happens(0.25);
          Shift(m, machine, onset, end, chance_.LogBetween(1.2, 15) * (up ? 1 : -1), ramp);
        }
      }
    }
    if (!chance_.Happens(0.6)) return;
    // The job follows.
    const std::size_t slow = std::min(seconds_ - 1, onset + 60 + chance_.Below(240));
    const double depth = chance_.Between(0.1, 0.8);
    for (std::size_t m = 0; m < count_; ++m) {
      const auto less = static_cast<float>(kMetrics[m].level * kMetrics[m].busy * depth);
      for (std::size_t i = 0; i < machines_; ++i) {
        const absl::Span<float> row = job_.metrics[m].Row(i);
        for (std::size_t t = slow + chance_.Below(3); t < seconds_; ++t) row[t] -= less;
      }
    }
  }

  void Blips() {
    for (std::size_t n = machines_ / 50; n > 0; --n) {
      const std::size_t i = chance_.Below(machines_);
      const std::size_t begin = chance_.Below(seconds_);
      const std::size_t end = begin + 5 + chance_.Below(36);
      for (std::size_t k = 1 + chance_.Below(4); k > 0; --k) {
        Shift(chance_.Below(count_), i, begin, end,
              chance_.LogBetween(5, 30) * (chance_.Happens(0.5) ? 1 : -1), 0);
      }
    }
  }

  void Missing() {
    for (std::size_t n = machines_ / 100; n > 0; --n) {
      const std::size_t i = chance_.Below(machines_);
      const std::size_t begin = chance_.Below(seconds_);
      const std::size_t end = std::min(seconds_, begin + 5 + chance_.Below(56));
      for (Panel& metric : job_.metrics) {
        const absl::Span<float> row = metric.Row(i);
        std::fill(row.begin() + static_cast<std::ptrdiff_t>(begin),
                  row.begin() + static_cast<std::ptrdiff_t>(end), series::kUnknown);
      }
    }
    for (std::size_t n = machines_ * seconds_ / 1000; n > 0; --n) {
      const std::size_t i = chance_.Below(machines_);
      job_.metrics[chance_.Below(count_)].Row(i)[chance_.Below(seconds_)] = series::kUnknown;
    }
  }

  void Hang() {
    if (!chance_.Happens(0.3)) return;
    const std::size_t i = chance_.Below(machines_);
    if (job_.faulty == i) return;
    job_.frozen = i;
    const std::size_t begin = chance_.Below(seconds_ / 2);
    for (Panel& metric : job_.metrics) {
      const absl::Span<float> row = metric.Row(i);
      std::fill(row.begin() + static_cast<std::ptrdiff_t>(begin), row.end(), row[begin]);
    }
  }

  const std::size_t machines_;
  const std::size_t seconds_;
  const std::size_t count_;
  Chance chance_;
  std::size_t stages_ = 1;
  std::vector<float> common_;  // metric, stage, second
  MadeUpJob job_;
};

}  // namespace

std::vector<const series::Panel*> MadeUpJob::views() const {
  std::vector<const series::Panel*> views;
  for (const series::Panel& metric : metrics) views.push_back(&metric);
  return views;
}

MadeUpJob MakeUpJob(const JobShape& shape, std::uint64_t seed) { return Maker(shape, seed).Make(); }

}  // namespace galen::testing
