#ifndef SERVICES_WATCH_EARLY_WARNING_FLEET_VIEW_H_
#define SERVICES_WATCH_EARLY_WARNING_FLEET_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/telemetry/discovery.h"
#include "services/watch/early_warning/detection/detectors.h"
#include "services/watch/early_warning/detection/policy.h"
#include "services/watch/early_warning/detection/rules.h"

namespace galen::watch::early_warning {

// Values assumed for a job if no series gives them, by quantity and then by job.
using Assumed = std::map<std::string, std::map<std::string, float>>;

// The subjects of one kind by their names in telemetry, each at its own slot while it has values.
// Not thread-safe.
class FleetView {
 public:
  // `rule_set` must outlive it.
  FleetView(const watch::detection::RuleSet& rule_set, watch::detection::Of of);

  // Takes the measurements of a window, by quantity, all on one grid; `jobs`: the job of each node.
  // A subject without values for a day loses its slot. `assumed` applies only to jobs, and not if
  // the window has a series of that quantity for the job.
  void Take(const std::map<std::string, telemetry::Measured>& measured,
            const std::map<std::string, std::string>& jobs, const Assumed& assumed = {});
  // The signs of minute `sample` of that window, with names.
  std::vector<watch::detection::Notice> Step(std::size_t sample);

  watch::detection::Detectors& detectors() { return detectors_; }
  // Converts the state of each subject, with its names, to its stored form and back; state of other
  // rules is ignored.
  struct Kept {
    watch::detection::Where where;
    std::vector<float> numbers;
  };
  std::vector<Kept> Save() const;
  void Restore(const Kept& kept);

 private:
  struct Subject {
    watch::detection::Where where;
    std::int64_t heard = 0;  // minute
    bool used = false;
  };
  // The rows of a column that belong to one subject.
  struct Column {
    const telemetry::Measured* measured = nullptr;
    float scale = 1;
    enum class Join { kSum, kLowest, kHighest, kMiddle } join = Join::kMiddle;
    std::vector<std::vector<std::uint32_t>> rows;  // by slot
    std::vector<float> assumed;                    // by slot, or empty
    std::vector<float> values;                     // by slot, of the minute
  };

  std::string KeyOf(const watch::detection::Where& where) const;
  std::size_t SlotOf(const watch::detection::Where& where);
  void Expire(std::int64_t minute);
  std::int32_t GroupOf(const watch::detection::Where& where);
  void Assume(const Assumed& assumed);
  void Fill(Column& column, std::size_t sample) const;

  const watch::detection::RuleSet& rule_set_;
  const watch::detection::Of of_;
  watch::detection::Detectors detectors_;
  std::map<std::string, std::size_t> slots_;
  std::vector<Subject> subjects_;
  std::vector<std::size_t> free_;
  std::map<std::string, std::int32_t> groups_;
  std::vector<std::int32_t> group_of_;  // by slot
  std::vector<std::uint8_t> silent_;
  std::vector<Column> columns_;  // as the detectors' measures
  timeseries::Grid grid_;
};

// The job of each node, by the jobs' own labels. A node of two jobs belongs to none.
std::map<std::string, std::string> JobsOf(
    const std::map<std::string, telemetry::Measured>& measured);

}  // namespace galen::watch::early_warning

#endif  // SERVICES_WATCH_EARLY_WARNING_FLEET_VIEW_H_
