// Properties of every scene.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/scenarios/scene.h"
#include "tests/scenarios/write_scene.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/scenarios/looking.h"

namespace galen::scenarios {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SceneOptions Small() { return {.nodes = 8}; }

// All that a scene holds, as text.
std::string Whole(const Scene& scene) {
  std::string text = TruthJson(scene);
  for (const telemetry::TimeSeries& series : scene.series) {
    for (const auto& [label, value] : series.labels) absl::StrAppend(&text, label, "=", value, ",");
    for (const timeseries::Sample& sample : series.samples)
      absl::StrAppend(&text, sample.at, " ", sample.value, ";");
  }
  for (const Log& log : scene.logs) absl::StrAppend(&text, log.path, log.text);
  return text;
}

TEST(ScenesTest, EqualSeedsMakeEqualScenesAndOthersOtherOnes) {
  for (const std::string& study : Studies()) {
    const auto scene = MakeScene(study, 3, Small());
    ASSERT_THAT(scene, IsOk());
    const std::string whole = Whole(*scene);
    EXPECT_EQ(whole, Whole(*MakeScene(study, 3, Small()))) << study;
    EXPECT_NE(whole, Whole(*MakeScene(study, 5, Small()))) << study;
  }
}

TEST(ScenesTest, SeedsTakeTurnsBetweenStylesAndMoveTheNumberOfNodes) {
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto one = MakeScene("fine", seed);
    ASSERT_THAT(one, IsOk());
    EXPECT_NE(one->style, MakeScene("fine", seed + 1, Small())->style);
    EXPECT_GE(one->nodes.size(), 8U);
    EXPECT_LE(one->nodes.size(), 64U);
    sizes.insert(one->nodes.size());
  }
  EXPECT_GT(sizes.size(), 1U);
}

TEST(ScenesTest, EverySeriesIsOfAKnownExporterAndOfANodeOfTheScene) {
  for (const std::string& study : Studies()) {
    for (const std::uint64_t seed : {1U, 2U}) {
      const auto scene = MakeScene(study, seed, Small());
      ASSERT_THAT(scene, IsOk());
      std::set<std::string> seen;
      for (const telemetry::TimeSeries& series : scene->series) {
        const std::string& metric = series.labels.at(telemetry::kMetricName);
        const telemetry::Family* const family = Shipped().FamilyOf(metric);
        ASSERT_NE(family, nullptr) << metric;
        ASSERT_THAT(scene->nodes, Contains(family->PlaceOf(series.labels).node)) << metric;
        // Two series of one name and place are one to a reader.
        const telemetry::Place place = family->PlaceOf(series.labels);
        EXPECT_TRUE(seen.insert(absl::StrCat(metric, "|", place.node, "|", place.device, "|",
                                             place.port, "|", place.rank, "|", place.job))
                        .second)
            << telemetry::ShowLabels(series.labels);
        for (std::size_t i = 1; i < series.samples.size(); ++i)
          ASSERT_LT(series.samples[i - 1].at, series.samples[i].at) << metric;
      }
    }
  }
}

TEST(ScenesTest, EveryQuantityThatDecidesIsThereAndInTheVariantMissing) {
  for (const std::string& study : Studies()) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      Looking whole = Look(study, seed, Small());
      const Truth& truth = whole.scene().truth;
      EXPECT_THAT(truth.left_out, IsEmpty());
      if (!truth.decisive.empty()) {
        EXPECT_THAT(whole.Measure(truth.decisive, whole.scene().start, whole.scene().end), IsOk());
      }
      if (!HasMissing(study)) {
        EXPECT_THAT(MakeScene(study, seed, {.missing = true}).status(),
                    StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(study)));
        continue;
      }
      Looking missing = Look(study, seed, {.missing = true, .nodes = 8});
      EXPECT_EQ(missing.scene().truth.ask, truth.decisive);
      EXPECT_THAT(missing.scene().truth.left_out, Contains(truth.decisive));
      EXPECT_THAT(missing.scene().truth.labels, IsEmpty());
      for (const std::string& quantity : missing.scene().truth.left_out) {
        EXPECT_THAT(missing.Measure(quantity, missing.scene().start, missing.scene().end).status(),
                    StatusIs(absl::StatusCode::kNotFound, HasSubstr(quantity)));
      }
      // The remaining series are unchanged.
      EXPECT_EQ(missing.Medians("tcp_retransmissions", missing.scene().start, missing.scene().end),
                whole.Medians("tcp_retransmissions", whole.scene().start, whole.scene().end));
    }
  }
}

TEST(ScenesTest, LabelsAreThoseOfTheTaxonomy) {
  std::ostringstream taxonomy;
  for (const char* const file : {"framework_library", "gpu", "interconnect_networking", "other",
                                 "system_software", "user_application"}) {
    std::ifstream in(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/taxonomy/", file, ".yaml"));
    taxonomy << in.rdbuf();
  }
  for (const std::string& study : Studies()) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto scene = MakeScene(study, seed, Small());
      ASSERT_THAT(scene, IsOk());
      EXPECT_EQ(scene->truth.labels.empty(), scene->truth.decisive.empty());
      for (const std::string& label : scene->truth.labels)
        EXPECT_THAT(taxonomy.str(), HasSubstr(absl::StrCat("label: ", label, "\n")));
    }
  }
}

TEST(ScenesTest, NobodyIsBothGuiltyAndClearedAndAllAreNodesOfTheScene) {
  for (const std::string& study : Studies()) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const auto scene = MakeScene(study, seed, Small());
      ASSERT_THAT(scene, IsOk());
      const Truth& truth = scene->truth;
      for (const std::string& node : truth.guilty_nodes) {
        EXPECT_THAT(scene->nodes, Contains(node));
        EXPECT_THAT(truth.cleared_nodes, Not(Contains(node))) << study << " " << seed;
      }
      for (const std::string& node : truth.cleared_nodes) EXPECT_THAT(scene->nodes, Contains(node));
      EXPECT_FALSE(truth.system_fine && !truth.guilty_nodes.empty()) << study;
      EXPECT_TRUE(std::is_sorted(truth.transitions.begin(), truth.transitions.end(),
                                 [](const auto& a, const auto& b) { return a.at < b.at; }));
      for (const Transition& turn : truth.transitions) {
        EXPECT_GT(turn.at, scene->start);
        EXPECT_LE(turn.at, scene->end);
      }
      EXPECT_FALSE(scene->incident.empty());
    }
  }
}

TEST(ScenesTest, WhatIsNotThereIsRefused) {
  EXPECT_THAT(MakeScene("no_such", 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("retransmits")));
  EXPECT_THAT(MakeScene("fine", 1, {.nodes = 2}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nodes")));
}

}  // namespace
}  // namespace galen::scenarios
