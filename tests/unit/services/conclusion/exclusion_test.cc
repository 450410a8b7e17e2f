#include "services/conclusion/exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galen::conclusion {
namespace {

using galen::v1::CheckResult;
using galen::v1::Course;
using galen::v1::NodeExclusion;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kStart = 1'700'000'000;

// A value a minute.
Course Line(Course::Role role, const std::string& node, const std::vector<float>& values) {
  Course course;
  course.set_name(role == Course::THROUGHPUT ? "throughput" : "retransmissions");
  course.set_role(role);
  course.mutable_subject()->set_node(node);
  course.mutable_start_time()->set_seconds(kStart);
  course.mutable_step()->set_seconds(60);
  for (const float value : values) course.add_values(value);
  return course;
}

void Level(Course& course, int from, int to, double value) {
  Course::Level& level = *course.add_levels();
  level.mutable_start_time()->set_seconds(kStart + 60 * from);
  level.mutable_end_time()->set_seconds(kStart + 60 * to);
  level.set_value(value);
}

struct Scene {
  galen::v1::Report report;
  galen::v1::EvidenceSet evidence;

  CheckResult& Node(const std::string& node, bool guilty) {
    CheckResult& result = *evidence.add_results();
    result.set_id("t.net@" + node);
    result.set_check("t.net");
    result.set_node(node);
    if (guilty) report.mutable_primary_cause()->add_evidence_ids(result.id());
    return result;
  }
};

// Throughput 100, 80 while n1 or n2 retransmits, six nodes: n1 in minutes 10 to 20, both in 20 to
// 30, n2 in 30 to 50, of 60.
Scene Phased() {
  Scene scene;
  std::vector<float> one(60, 0);
  std::vector<float> two(60, 0);
  std::vector<float> all(60, 100);
  for (int i = 10; i < 30; ++i) one[static_cast<std::size_t>(i)] = 500;
  for (int i = 20; i < 50; ++i) two[static_cast<std::size_t>(i)] = 400;
  for (int i = 10; i < 50; ++i) all[static_cast<std::size_t>(i)] = 80;
  Course throughput = Line(Course::THROUGHPUT, "", all);
  Level(throughput, 0, 10, 100);
  Level(throughput, 10, 20, 80);
  Level(throughput, 20, 30, 80);
  Level(throughput, 30, 50, 80);
  Level(throughput, 50, 60, 100);
  CheckResult& first = scene.Node("n1", true);
  *first.add_courses() = Line(Course::SUSPECT, "n1", one);
  *first.add_courses() = throughput;
  *scene.Node("n2", true).add_courses() = Line(Course::SUSPECT, "n2", two);
  for (const char* const node : {"n3", "n4", "n5", "n6"}) scene.Node(node, false);
  return scene;
}

TEST(ExclusionTest, TheNodeThatGainsMostComesFirstAndTogetherTheyGainAll) {
  const Scene scene = Phased();
  const NodeExclusion exclusion = ExcludeNodes(scene.report, scene.evidence);
  ASSERT_THAT(exclusion.nodes(), SizeIs(2));
  // Without n2, minutes 30 to 50 are good: 20 x 20 of 5,200. The loss that both share is regained
  // with n1.
  EXPECT_EQ(exclusion.nodes(0).node(), "n2");
  EXPECT_NEAR(exclusion.nodes(0).gain_pct(), 100 * 400.0 / 5200, 1e-6);
  EXPECT_EQ(exclusion.nodes(1).node(), "n1");
  EXPECT_NEAR(exclusion.nodes(1).gain_pct(), 100 * 400.0 / 5200, 1e-6);
  EXPECT_NEAR(exclusion.gain_pct(), 100 * 800.0 / 5200, 1e-6);
  EXPECT_THAT(exclusion.verify(), HasSubstr("loss_beside_pct of about -15"));
  EXPECT_EQ(exclusion.nodes(0).evidence_ids(0), "t.net@n2");
}

TEST(ExclusionTest, WithoutABetterTimeTheGainIsUnknownAndNotZero) {
  Scene scene = Phased();
  auto& throughput = *scene.evidence.mutable_results(0)->mutable_courses(1);
  throughput.clear_levels();
  Level(throughput, 0, 60, 80);
  const NodeExclusion exclusion = ExcludeNodes(scene.report, scene.evidence);
  ASSERT_THAT(exclusion.nodes(), SizeIs(2));
  EXPECT_FALSE(exclusion.nodes(0).has_gain_pct());
  EXPECT_FALSE(exclusion.has_gain_pct());
  EXPECT_THAT(exclusion.verify(), HasSubstr("the gain is unknown"));
}

TEST(ExclusionTest, WhoIsNotBlamedStaysAndNobodyLeavesOutMostOfTheJob) {
  Scene innocent = Phased();
  innocent.report.mutable_primary_cause()->clear_evidence_ids();
  EXPECT_THAT(ExcludeNodes(innocent.report, innocent.evidence).nodes(), IsEmpty());
  Scene most = Phased();
  most.evidence.mutable_results()->DeleteSubrange(3, 3);  // three nodes are left
  EXPECT_THAT(ExcludeNodes(most.report, most.evidence).nodes(), IsEmpty());
  Scene unconfirmed = Phased();
  unconfirmed.report.clear_primary_cause();
  EXPECT_THAT(ExcludeNodes(unconfirmed.report, unconfirmed.evidence).nodes(), IsEmpty());
}

TEST(ExclusionTest, APictureShowsThroughputFirstThenWhatTheCauseRestsOn) {
  Scene scene = Phased();
  *scene.evidence.mutable_results(5)->add_courses() = Line(Course::TRAINING, "", {1, 2});
  FillCourses(scene.evidence, scene.report);
  ASSERT_THAT(scene.report.courses(), SizeIs(4));
  EXPECT_EQ(scene.report.courses(0).role(), Course::THROUGHPUT);
  EXPECT_EQ(scene.report.courses(1).subject().node(), "n1");
  EXPECT_EQ(scene.report.courses(2).subject().node(), "n2");
  EXPECT_EQ(scene.report.courses(3).role(), Course::TRAINING);
}

}  // namespace
}  // namespace galen::conclusion
