#ifndef COMMON_SVG_COURSES_SVG_H_
#define COMMON_SVG_COURSES_SVG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "galen/v1/evidence.pb.h"

namespace galen::svg {

// Time series on one axis as one SVG: throughput with its levels on top, and below a panel for each
// quantity, the suspects in colour with their names, their peers in grey. Stretches of low
// throughput are shaded through all panels. Readable on light and dark backgrounds, and without
// colours. Texts are foreign and escaped. "": there is nothing to draw. Pure.
std::string CoursesSvg(const google::protobuf::RepeatedPtrField<galen::v1::Course>& courses,
                       absl::string_view title);

}  // namespace galen::svg

#endif  // COMMON_SVG_COURSES_SVG_H_
