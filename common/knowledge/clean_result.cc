#include "common/knowledge/clean_result.h"

#include <google/protobuf/util/time_util.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "common/base/text.h"

namespace galen::knowledge {
namespace {

constexpr std::size_t kMaxValueBytes = 1024;
constexpr std::size_t kMaxNameBytes = 256;
using google::protobuf::util::TimeUtil;

// Whether it can be written as JSON, whose times end with the year 9999.
template <typename Time>
bool IsWritable(const Time& time, std::int64_t least, std::int64_t most) {
  return time.seconds() >= least && time.seconds() <= most && time.nanos() >= 0 &&
         time.nanos() < 1'000'000'000;
}

void Clean(std::string& text, std::size_t max_bytes) {
  if (!text.empty()) text = CleanText(text, max_bytes);
}

}  // namespace

void CleanFinding(galen::v1::Finding& finding) {
  Clean(*finding.mutable_name(), kMaxNameBytes);
  if (finding.has_subject()) {
    galen::v1::Device& subject = *finding.mutable_subject();
    Clean(*subject.mutable_node(), kMaxNameBytes);
    Clean(*subject.mutable_device(), kMaxNameBytes);
    Clean(*subject.mutable_pci_address(), kMaxNameBytes);
    Clean(*subject.mutable_serial(), kMaxNameBytes);
  }
  Clean(*finding.mutable_unit(), kMaxNameBytes);
  Clean(*finding.mutable_expected(), kMaxValueBytes);
  if (finding.has_text_value()) Clean(*finding.mutable_text_value(), kMaxValueBytes);
  if (finding.has_event_value()) {
    Clean(*finding.mutable_event_value()->mutable_code(), kMaxNameBytes);
    Clean(*finding.mutable_event_value()->mutable_text(), kMaxValueBytes);
    if (finding.event_value().has_time() &&
        !IsWritable(finding.event_value().time(), TimeUtil::kTimestampMinSeconds,
                    TimeUtil::kTimestampMaxSeconds)) {
      finding.mutable_event_value()->clear_time();
    }
  }
}

void CleanCourses(galen::v1::CheckResult& result) {
  auto& courses = *result.mutable_courses();
  const auto at = [](const google::protobuf::Timestamp& time) {
    return IsWritable(time, TimeUtil::kTimestampMinSeconds, TimeUtil::kTimestampMaxSeconds);
  };
  for (int i = 0; i < courses.size();) {
    galen::v1::Course& course = courses[i];
    const bool drawable = course.has_start_time() && at(course.start_time()) &&
                          IsWritable(course.step(), 0, TimeUtil::kDurationMaxSeconds) &&
                          (course.step().seconds() > 0 || course.step().nanos() > 0) &&
                          galen::v1::Course::Role_IsValid(course.role());
    if (!drawable || i >= kMaxCourses) {
      courses.DeleteSubrange(i, 1);
      continue;
    }
    Clean(*course.mutable_name(), kMaxNameBytes);
    Clean(*course.mutable_unit(), kMaxNameBytes);
    Clean(*course.mutable_subject()->mutable_node(), kMaxNameBytes);
    Clean(*course.mutable_subject()->mutable_device(), kMaxNameBytes);
    if (course.values_size() > kMaxCourseValues)
      course.mutable_values()->Truncate(kMaxCourseValues);
    for (float& value : *course.mutable_values()) {
      if (!std::isfinite(value)) value = std::numeric_limits<float>::quiet_NaN();
    }
    auto& levels = *course.mutable_levels();
    if (levels.size() > kMaxCourseLevels) {
      levels.DeleteSubrange(kMaxCourseLevels, levels.size() - kMaxCourseLevels);
    }
    for (galen::v1::Course::Level& level : levels) {
      if (!std::isfinite(level.value())) level.clear_value();
      if (!at(level.start_time())) level.clear_start_time();
      if (!at(level.end_time())) level.clear_end_time();
    }
    ++i;
  }
}

void CleanWanted(galen::v1::CheckResult& result) {
  if (result.wanted_size() > kMaxWanted) {
    result.mutable_wanted()->DeleteSubrange(kMaxWanted, result.wanted_size() - kMaxWanted);
  }
  for (std::string& wanted : *result.mutable_wanted()) Clean(wanted, kMaxNameBytes);
}

void CleanResult(galen::v1::CheckResult& result) {
  Clean(*result.mutable_message(), kMaxMessageBytes);
  Clean(*result.mutable_excerpt(), kMaxExcerptBytes);
  if (!IsWritable(result.duration(), 0, TimeUtil::kDurationMaxSeconds)) result.clear_duration();
  for (galen::v1::Finding& finding : *result.mutable_findings()) CleanFinding(finding);
  CleanCourses(result);
  CleanWanted(result);
}

}  // namespace galen::knowledge
