#include "common/svg/courses_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace galen::svg {
namespace {

using galen::v1::Course;
using ::testing::HasSubstr;
using ::testing::Not;

using Courses = google::protobuf::RepeatedPtrField<Course>;

Course Line(Course::Role role, const std::string& name, const std::string& node,
            const std::vector<float>& values) {
  Course course;
  course.set_name(name);
  course.set_role(role);
  course.mutable_subject()->set_node(node);
  course.mutable_start_time()->set_seconds(1'700'000'000);
  course.mutable_step()->set_seconds(60);
  for (const float value : values) course.add_values(value);
  return course;
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(CoursesSvgTest, ThroughputStandsOnTopWithItsLowStretchesShadedThroughAll) {
  Courses courses;
  *courses.Add() = Line(Course::SUSPECT, "retransmissions", "n1", {0, 9, 9, 0});
  *courses.Add() = Line(Course::PEERS, "retransmissions", "", {0, 0, 0, 0});
  Course throughput = Line(Course::THROUGHPUT, "throughput", "", {100, 80, 80, 100});
  const auto level = [&](int from, int to, double value) {
    Course::Level& added = *throughput.add_levels();
    added.mutable_start_time()->set_seconds(1'700'000'000 + 60 * from);
    added.mutable_end_time()->set_seconds(1'700'000'000 + 60 * to);
    added.set_value(value);
  };
  level(0, 1, 100);
  level(1, 3, 80);
  *courses.Add() = throughput;
  const std::string svg = CoursesSvg(courses, "Slow");
  EXPECT_LT(svg.find(">throughput</text>"), svg.find(">retransmissions</text>"));
  EXPECT_EQ(Count(svg, "<rect class=\"shade\""), 1U);
  EXPECT_THAT(svg, HasSubstr(">n1</text>"));
  EXPECT_THAT(svg, HasSubstr(">median of the others</text>"));
  EXPECT_THAT(svg, HasSubstr("22:13:20 UTC"));
}

TEST(CoursesSvgTest, WhatIsNotKnownIsAGap) {
  Courses courses;
  *courses.Add() = Line(Course::SUSPECT, "power", "n1", {1, 2, NAN, 3, 4});
  const std::string svg = CoursesSvg(courses, "");
  const std::size_t at = svg.find(" d=\"M");
  const std::string path = svg.substr(at, svg.find('"', at + 4) - at);
  EXPECT_EQ(Count(path, "M"), 2U) << path;
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(CoursesSvgTest, ForeignTextsCannotBecomeMarkup) {
  Courses courses;
  *courses.Add() = Line(Course::SUSPECT, "<script>alert(1)</script>", "n\"1&\x1b[31m", {1, 2});
  const std::string svg = CoursesSvg(courses, "a <b> & \"c\"");
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;"));
}

TEST(CoursesSvgTest, WithoutNumbersNothingIsDrawn) {
  Courses courses;
  EXPECT_EQ(CoursesSvg(courses, "x"), "");
  *courses.Add() = Line(Course::SUSPECT, "power", "n1", {});
  EXPECT_EQ(CoursesSvg(courses, "x"), "");
}

}  // namespace
}  // namespace galen::svg
