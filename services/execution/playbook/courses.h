#ifndef SERVICES_EXECUTION_PLAYBOOK_COURSES_H_
#define SERVICES_EXECUTION_PLAYBOOK_COURSES_H_

#include "absl/types/span.h"
#include "galen/v1/evidence.pb.h"
#include "services/execution/playbook/examine.h"

namespace galen::playbook {

// Values on their axis, thinned out to what a picture shows: means of neighbours.
galen::v1::Course CourseOf(const timeseries::Grid& grid, absl::Span<const float> values,
                           absl::string_view name, absl::string_view unit,
                           galen::v1::Course::Role role);

// Throughput with its levels. Nothing to draw: no values.
galen::v1::Course ThroughputCourse(const JobActivity& activity);

// The row that an observation rests on, and the median of all others beside it.
galen::v1::Course SuspectCourse(const Observation& observation);
galen::v1::Course PeersCourse(const Observation& observation);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_COURSES_H_
