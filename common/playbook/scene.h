#ifndef COMMON_PLAYBOOK_SCENE_H_
#define COMMON_PLAYBOOK_SCENE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/playbook/rows.h"
#include "common/series/change_points.h"
#include "common/series/grid.h"

namespace galen::playbook {

// How throughput went, as a word.
enum class Shape { kUnknown, kSteady, kPhased, kGradual, kOneOff };
absl::string_view Word(Shape shape);

struct SceneOptions {
  // A phase that gives less than so much away is none (%): judgement, between the 1 % that only a
  // comparison of two jobs shows and the 10 % that make people complain.
  double least_loss = 4;
  // A level is held for so long.
  absl::Duration shortest = absl::Minutes(4);
};

// What the job did in the window: what everything else is held against.
struct Scene {
  series::Grid grid;
  // Some place in time of it is known.
  bool known = false;
  // Of the job: the median of all ranks; unknown before it began and after it ended.
  std::vector<float> throughput;
  std::string unit;
  std::vector<series::Phase> phases;
  // The level of the best phase, and what the job lost beside it over all phases that lose (%).
  float best = series::kUnknown;
  double loss = 0;
  Shape shape = Shape::kUnknown;
  // Samples between which it made steps; all of the window where nothing is known. An exporter
  // goes on to tell the last values of a job that is dead: what does not move is no step.
  std::size_t begin = 0;
  std::size_t end = 0;

  // Of a phase: what it gives away beside the best one, %.
  double LossOf(const series::Phase& phase) const;
};

// `throughput` and `steps` (step counter or step time) may be null.
Scene MakeScene(const series::Grid& grid, const Rows* throughput, const Rows* steps,
                const SceneOptions& options = {});

// The stretches in which a job ran, where a window holds several, one after the other: steps begin
// anew, or nothing is known for `gap`. In order.
struct Run {
  std::size_t begin = 0;
  std::size_t end = 0;  // one behind
};
std::vector<Run> RunsOf(const Rows& throughput, absl::Duration gap);

}  // namespace galen::playbook

#endif  // COMMON_PLAYBOOK_SCENE_H_
