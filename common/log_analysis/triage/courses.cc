#include "common/log_analysis/triage/courses.h"

#include <cmath>
#include <string>
#include <utility>

namespace galen::triage {

std::vector<Course> CoursesOf(const StepTrack& track, const JobContext& context) {
  std::vector<Course> courses;
  const auto add = [&](std::string name, std::string unit, const Series& series, bool derived,
                       double factor) {
    if (series.count() == 0 || !std::isfinite(factor) || factor <= 0) return;
    Course course;
    course.name = std::move(name);
    course.unit = std::move(unit);
    course.derived = derived;
    course.count = series.count();
    course.steady = *series.SteadyMean() * factor;
    course.min = series.min() * factor;
    course.max = series.max() * factor;
    course.change = series.Change();
    course.points = series.Points();
    for (Series::Point& point : course.points) point.mean *= factor;
    courses.push_back(std::move(course));
  };
  add("step time", "s", track.seconds(), false, 1);
  add("tokens per GPU", "/s", track.tokens_per_gpu(), false, 1);
  // Samples have the sequence length that the log declares.
  if (track.tokens_per_gpu().count() == 0 && context.sequence_length.has_value() &&
      context.world_size.value_or(0) > 0) {
    add("tokens per GPU", "/s", track.samples(), true,
        static_cast<double>(*context.sequence_length) / static_cast<double>(*context.world_size));
  }
  add("tokens", "/s", track.tokens(), false, 1);
  add("samples", "/s", track.samples(), track.samples_derived(), 1);
  add("TFLOP/s per GPU", "", track.tflops(), false, 1);
  add("MFU", "%", track.mfu(), false, 1);
  return courses;
}

}  // namespace galen::triage
