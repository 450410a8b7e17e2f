#ifndef SERVICES_EXECUTION_PLAYBOOK_JOB_ACTIVITY_H_
#define SERVICES_EXECUTION_PLAYBOOK_JOB_ACTIVITY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/timeseries/change_points.h"
#include "common/timeseries/grid.h"
#include "services/execution/playbook/rows.h"

namespace galen::playbook {

// How throughput went, as a word.
enum class Shape { kUnknown, kSteady, kPhased, kGradual, kOneOff };
absl::string_view Word(Shape shape);

struct JobActivityOptions {
  // A phase that gives less than so much away is none (%): judgement, between the 1 % that only a
  // comparison of two jobs shows and the 10 % that make people complain.
  double least_loss = 4;
  // A level is held for so long.
  absl::Duration shortest = absl::Minutes(4);
};

// What the job did in the window: what everything else is held against.
struct JobActivity {
  timeseries::Grid grid;
  // Some place in time of it is known.
  bool known = false;
  // Of the job: the median of all ranks; unknown before it began and after it ended.
  std::vector<float> throughput;
  std::string unit;
  std::vector<timeseries::Phase> phases;
  // The level of the best phase, and what the job lost beside it over all phases that lose (%).
  float best = timeseries::kUnknown;
  double loss = 0;
  Shape shape = Shape::kUnknown;
  // Samples between which it made steps; all of the window where nothing is known. An exporter
  // goes on to tell the last values of a job that is dead: what does not move is no step.
  std::size_t begin = 0;
  std::size_t end = 0;

  // Of a phase: what it gives away beside the best one, %.
  double LossOf(const timeseries::Phase& phase) const;
};

// `throughput` and `steps` (step counter or step time) may be null.
JobActivity MakeJobActivity(const timeseries::Grid& grid, const Rows* throughput, const Rows* steps,
                            const JobActivityOptions& options = {});

// The stretches in which a job ran, where a window holds several, one after the other: steps begin
// anew, or nothing is known for `gap`. In order.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;  // one behind
};
std::vector<Run> RunsOf(const Rows& throughput, absl::Duration gap);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_JOB_ACTIVITY_H_
