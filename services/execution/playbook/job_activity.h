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
  // Least loss of a phase that counts, in %: judgement, between the 1 % that only a comparison of
  // two jobs shows and the 10 % that make people complain.
  double least_loss = 4;
  // Least duration of a level.
  absl::Duration shortest = absl::Minutes(4);
};

// The job over the window: the reference for everything else.
struct JobActivity {
  timeseries::Grid grid;
  // Whether some of the job's throughput is known.
  bool known = false;
  // The job's throughput: the median of all ranks; unknown before it began and after it ended.
  std::vector<float> throughput;
  std::string unit;
  std::vector<timeseries::Phase> phases;
  // The level of the best phase, and the job's loss relative to it over all phases that lose (%).
  float best = timeseries::kUnknown;
  double loss = 0;
  Shape shape = Shape::kUnknown;
  // The range of samples in which the job made steps; the whole window if nothing is known.
  // Exporters keep reporting the last values of a dead job, so only changes count as steps.
  std::size_t begin = 0;
  std::size_t end = 0;

  // The loss of a phase relative to the best one, in %.
  double LossOf(const timeseries::Phase& phase) const;
};

// `throughput` and `steps` (step counter or step time) may be null.
JobActivity MakeJobActivity(const timeseries::Grid& grid, const Rows* throughput, const Rows* steps,
                            const JobActivityOptions& options = {});

// The runs of a job within a window, in order: a new run begins after more than `gap` in which
// throughput was unknown or did not change.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;  // one behind
};
std::vector<Run> RunsOf(const Rows& throughput, absl::Duration gap);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_JOB_ACTIVITY_H_
