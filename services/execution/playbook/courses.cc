#include "services/execution/playbook/courses.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/knowledge/clean_result.h"
#include "common/timeseries/robust.h"

namespace galen::playbook {
namespace {

using galen::v1::Course;

}  // namespace

Course CourseOf(const timeseries::Grid& grid, absl::Span<const float> values,
                absl::string_view name, absl::string_view unit, Course::Role role) {
  Course course;
  course.set_name(std::string(name));
  course.set_unit(std::string(unit));
  course.set_role(role);
  const auto most = static_cast<std::size_t>(knowledge::kMaxCourseValues);
  const std::size_t block = std::max<std::size_t>(1, (values.size() + most - 1) / most);
  *course.mutable_start_time() = ToTimestamp(grid.start);
  const absl::Duration step = static_cast<std::int64_t>(block) * grid.step;
  *course.mutable_step() = ToProtoDuration(step);
  for (std::size_t from = 0; from < values.size(); from += block) {
    double sum = 0;
    double known = 0;
    for (const float value : values.subspan(from, std::min(block, values.size() - from))) {
      if (!timeseries::IsKnown(value)) continue;
      sum += static_cast<double>(value);
      known += 1;
    }
    course.add_values(known > 0 ? static_cast<float>(sum / known) : timeseries::kUnknown);
  }
  return course;
}

Course ThroughputCourse(const JobActivity& activity) {
  if (!activity.known) return {};
  Course course =
      CourseOf(activity.grid, activity.throughput, "throughput", activity.unit, Course::THROUGHPUT);
  for (const timeseries::Phase& phase : activity.phases) {
    if (!timeseries::IsKnown(phase.level)) continue;
    Course::Level& level = *course.add_levels();
    *level.mutable_start_time() = ToTimestamp(activity.grid.At(phase.begin));
    *level.mutable_end_time() = ToTimestamp(activity.grid.At(phase.end));
    level.set_value(static_cast<double>(phase.level));
  }
  return course;
}

Course SuspectCourse(const Observation& observation) {
  const Rows& rows = *observation.rows;
  const auto row = static_cast<std::size_t>(observation.row);
  const bool job = rows.places[row].node.empty();
  Course course = CourseOf(rows.grid, rows.values.Row(row), rows.name, rows.unit,
                           job ? Course::TRAINING : Course::SUSPECT);
  course.mutable_subject()->set_node(rows.places[row].node);
  course.mutable_subject()->set_device(rows.places[row].device);
  return course;
}

Course PeersCourse(const Observation& observation) {
  const Rows& rows = *observation.rows;
  std::vector<float> column;
  std::vector<float> medians(rows.grid.size, timeseries::kUnknown);
  for (std::size_t t = 0; t < medians.size(); ++t) {
    column.clear();
    for (std::size_t i = 0; i < rows.places.size(); ++i) {
      if (static_cast<int>(i) != observation.row) column.push_back(rows.values.Row(i)[t]);
    }
    medians[t] = timeseries::Median(column);
  }
  return CourseOf(rows.grid, medians, rows.name, rows.unit, Course::PEERS);
}

}  // namespace galen::playbook
