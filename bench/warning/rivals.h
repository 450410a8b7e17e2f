#ifndef BENCH_WARNING_RIVALS_H_
#define BENCH_WARNING_RIVALS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/warning/scoring.h"
#include "bench/warning/watched.h"

namespace galen::bench {

inline constexpr std::size_t kLevels = 14;

// The usual alerts: a limit for each metric, exceeded for five minutes; or this many deviations
// from the metric's own average of the last hour. Both know when a GPU works, when a job begins and
// what is planned, and report a machine or job once in six hours, as ours does; every level of
// every limit is tried at once.
class Rival {
 public:
  enum class How { kThreshold, kMovingAverage };
  explicit Rival(How how);

  void Step(const Watched& now);

  struct Metric {
    std::string name;
    std::array<float, kLevels> levels;  // harder and harder to pass
    bool low = false;
  };
  const std::vector<Metric>& metrics() const { return metrics_; }
  // The reports with one level of one metric.
  const std::vector<Told>& told(std::size_t metric, std::size_t level) const {
    return lists_[metric][level].told;
  }

 private:
  static constexpr int kFor = 5;  // minutes
  struct Subject {
    std::int32_t group = -1;
    int minutes = 0;
    float mean = 0;
    float square = 0;
    int seen = 0;
    int at = 0;  // of `passed`
    std::array<std::uint8_t, kFor> passed = {};
  };
  struct List {
    std::vector<Told> told;
    std::vector<int> last;  // by node or job slot: when it was last passed
  };
  void Take(std::size_t metric, std::size_t subject, float value, std::int32_t group, int node,
            const Watched& now);

  const How how_;
  std::vector<Metric> metrics_;
  std::vector<std::vector<Subject>> subjects_;  // by metric
  std::vector<std::array<List, kLevels>> lists_;
};

// The level of each metric, kLevels for none, that reports the most faults before people notice on
// these fleets, with at most `most_false` false alarms: chosen greedily, one step after the other.
std::vector<std::size_t> Choose(const std::vector<Rival>& runs, const std::vector<Telling>& truths,
                                double most_false);
// The reports with these levels: for one machine or job once in six hours.
Telling With(const Rival& run, const Telling& truth, const std::vector<std::size_t>& levels);

}  // namespace galen::bench

#endif  // BENCH_WARNING_RIVALS_H_
