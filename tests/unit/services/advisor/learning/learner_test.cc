#include "services/advisor/learning/learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/testing/advisor/made_up_fleet.h"
#include "tests/testing/status_matchers.h"

namespace galen::advisor {
namespace {

using ::galen::testing::FleetShape;
using ::galen::testing::MadeUpFleet;
using ::galen::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Learned LearnFrom(MadeUpFleet& fleet, int runs, LearnerOptions options = {}) {
  Learner learner(std::move(options));
  for (int i = 0; i < runs; ++i) {
    const absl::Status status = learner.Add(fleet.Next());
    EXPECT_TRUE(status.ok()) << status;
  }
  return learner.Learn();
}

TEST(Learner, FindsWhatWasPlantedAndNothingElse) {
  FleetShape shape;
  shape.mismatches = 3;
  shape.mismatch_factor = 12;
  shape.build_ups = 2;
  shape.lemons = 4;
  shape.lemon_factor = 40;
  MadeUpFleet fleet(shape, 1);
  const Learned learned = LearnFrom(fleet, 150'000);
  std::set<std::string> planted;
  for (const MadeUpFleet::Planted& each : fleet.mismatches()) {
    planted.insert(MadeUpFleet::Archetype(each.archetype) + MadeUpFleet::Context(each.context));
  }
  std::set<std::string> found;
  for (const LearnedMismatch& each : learned.mismatches)
    found.insert(each.archetype + each.context);
  EXPECT_EQ(found, planted);
  for (const MadeUpFleet::Planted& each : fleet.mismatches()) {
    const auto it = std::find_if(
        learned.mismatches.begin(), learned.mismatches.end(),
        [&](const auto& l) { return l.archetype == MadeUpFleet::Archetype(each.archetype); });
    ASSERT_NE(it, learned.mismatches.end());
    EXPECT_THAT(it->stacks,
                Contains(MadeUpFleet::Stack(each.archetype * shape.stacks + each.stack)));
  }
  std::set<std::size_t> signs;
  for (const LearnedBuildUp& each : learned.build_ups) {
    signs.insert(each.sign);
    EXPECT_NEAR(std::exp(each.evidence.effect), shape.build_up_factor, 1);
  }
  EXPECT_EQ(signs, fleet.build_ups());
  std::set<std::string> lemons;
  for (const FleetHistory::Lemon& lemon : learned.lemons) lemons.insert(lemon.node);
  for (const std::string& lemon : fleet.lemons()) EXPECT_THAT(lemons, Contains(lemon));
}

TEST(Learner, FindsNothingInFleetsWithNothingPlanted) {
  int with_mismatch = 0;
  int with_build_up = 0;
  constexpr int kFleets = 4;  // bench/advisor does hundreds
  for (int seed = 0; seed < kFleets; ++seed) {
    MadeUpFleet fleet({}, 100 + static_cast<std::uint64_t>(seed));
    const Learned learned = LearnFrom(fleet, 20'000);
    EXPECT_GT(learned.tested_pairs, 50u);
    EXPECT_EQ(learned.tested_signs, MadeUpFleet::kSigns);
    with_mismatch += learned.mismatches.empty() && learned.of_one_node.empty() ? 0 : 1;
    with_build_up += learned.build_ups.empty() ? 0 : 1;
  }
  // At a rate of 0.05 three or more of four come once in 2,000 times.
  EXPECT_LT(with_mismatch, 3);
  EXPECT_LT(with_build_up, 3);
}

TEST(Learner, ALemonIsNoMismatchOfItsContext) {
  FleetShape shape;
  shape.lemons = 1;
  shape.lemon_factor = 60;
  shape.nodes = 80;
  MadeUpFleet fleet(shape, 5);
  const Learned learned = LearnFrom(fleet, 40'000);
  EXPECT_THAT(learned.mismatches, IsEmpty());
  ASSERT_FALSE(learned.lemons.empty());
  EXPECT_EQ(learned.lemons.front().node, *fleet.lemons().begin());
}

TEST(Learner, TheSameRunsTeachTheSame) {
  FleetShape shape;
  shape.mismatches = 2;
  MadeUpFleet one(shape, 9);
  MadeUpFleet two(shape, 9);
  const Learned a = LearnFrom(one, 20'000);
  const Learned b = LearnFrom(two, 20'000);
  ASSERT_EQ(a.mismatches.size(), b.mismatches.size());
  for (std::size_t i = 0; i < a.mismatches.size(); ++i) {
    EXPECT_EQ(a.mismatches[i].id, b.mismatches[i].id);
    EXPECT_EQ(a.mismatches[i].evidence.p, b.mismatches[i].evidence.p);
  }
}

// A person who revoked it once is not warned again because more runs show one more version.
TEST(Learner, AMismatchKeepsItsIdWhenMoreRunsShowAnotherVersion) {
  Learner learner;
  // Adds `runs` of each version on each context, of which one in twenty fails; in context 0, half
  // of the runs of the `bad` versions fail.
  const auto add = [&learner](int runs, std::set<std::size_t> bad) {
    for (std::size_t archetype = 0; archetype < 4; ++archetype) {
      for (std::size_t stack = 0; stack < 2; ++stack) {
        for (std::size_t context = 0; context < 4; ++context) {
          const std::size_t workload = archetype * 2 + stack;
          for (int i = 0; i < runs; ++i) {
            RunRecord run;
            run.archetype = MadeUpFleet::Archetype(archetype);
            run.stack = MadeUpFleet::Stack(workload);
            run.context = MadeUpFleet::Context(context);
            run.hours = 1;
            const bool is_bad = context == 0 && bad.contains(workload);
            run.ending = i % (is_bad ? 2 : 20) == 0 ? Ending::kFailed : Ending::kCompleted;
            ASSERT_TRUE(learner.Add(run).ok());
          }
        }
      }
    }
  };
  add(200, {0});
  const Learned before = learner.Learn();
  ASSERT_EQ(before.mismatches.size(), 1u);
  EXPECT_THAT(before.mismatches[0].stacks, ElementsAre(MadeUpFleet::Stack(0)));
  add(400, {0, 1});
  const Learned after = learner.Learn();
  ASSERT_EQ(after.mismatches.size(), 1u);
  EXPECT_THAT(after.mismatches[0].stacks,
              ElementsAre(MadeUpFleet::Stack(0), MadeUpFleet::Stack(1)));
  EXPECT_EQ(after.mismatches[0].id, before.mismatches[0].id);
}

TEST(Learner, AStoppedRunSpeaksForNoMachine) {
  Learner learner;
  RunRecord run;
  run.archetype = MadeUpFleet::Archetype(0);
  run.stack = MadeUpFleet::Stack(0);
  run.context = MadeUpFleet::Context(0);
  run.hours = 1;
  run.nodes = {"n"};
  for (const Ending ending : {Ending::kCompleted, Ending::kStopped, Ending::kFailed}) {
    run.ending = ending;
    run.node = ending == Ending::kFailed ? "n" : "";
    ASSERT_TRUE(learner.Add(run).ok());
  }
  EXPECT_EQ(learner.fleet().Find("n")->runs(), 2);
  EXPECT_EQ(learner.fleet().Find("n")->failures(), 1);
}

// Runs whose signs nobody followed are not runs without signs.
TEST(Learner, RunsWithoutEpisodesSayNothingOfSigns) {
  Learner learner;
  RunRecord run;
  run.archetype = MadeUpFleet::Archetype(0);
  run.stack = MadeUpFleet::Stack(0);
  run.context = MadeUpFleet::Context(0);
  run.hours = 0.9;
  // Not followed: they never fail. Followed: with the sign and without it half of them.
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(learner.Add(run).ok());
  for (int i = 0; i < 1000; ++i) {
    Episode episode{0, 0.9, {}};
    episode.signs[2] = i % 20 < 18 ? 1 : 0;
    run.episodes = {episode};
    run.ending = i % 2 == 0 ? Ending::kFailed : Ending::kCompleted;
    ASSERT_TRUE(learner.Add(run).ok());
  }
  const Learned learned = learner.Learn();
  ASSERT_TRUE(learned.hazard.has_value()) << learned.no_hazard;
  EXPECT_EQ(learned.tested_signs, 1u);
  EXPECT_THAT(learned.build_ups, IsEmpty());
}

TEST(Learner, KnowsHowLikelyRunsFailWhereNobodyFollowsSigns) {
  Learner learner;
  RunRecord run;
  run.archetype = MadeUpFleet::Archetype(0);
  run.stack = MadeUpFleet::Stack(0);
  run.context = MadeUpFleet::Context(0);
  run.hours = 0.9;
  for (int i = 0; i < 1000; ++i) {
    run.ending = i % 20 == 0 ? Ending::kFailed : Ending::kCompleted;
    ASSERT_TRUE(learner.Add(run).ok());
  }
  const Learned learned = learner.Learn();
  ASSERT_TRUE(learned.hazard.has_value()) << learned.no_hazard;
  EXPECT_NEAR(learned.hazard->Probability(0, 0.9, Signs{}, 0, MachinesOf(0, 1)), 0.05, 0.01);
  EXPECT_EQ(learned.tested_signs, 0u);
}

TEST(Learner, HostileNumbersOfNamesTakeNoMoreRoom) {
  LearnerOptions options;
  options.most_names = 100;
  options.most_cells = 200;
  options.most_nodes = 50;
  Learner learner(options);
  RunRecord run;
  run.hours = 1;
  for (std::size_t i = 0; i < 5000; ++i) {
    run.archetype = MadeUpFleet::Archetype(i);
    run.stack = MadeUpFleet::Stack(i);
    run.context = MadeUpFleet::Context(i);
    run.nodes = {std::to_string(i)};
    ASSERT_TRUE(learner.Add(run).ok());
  }
  const Learned learned = learner.Learn();
  EXPECT_EQ(learned.runs, 5000);
  EXPECT_EQ(learned.left_out, 4900);
  EXPECT_EQ(learner.fleet().nodes(), 50u);
}

TEST(Learner, WorkloadsStayInStepWithTheirNamesWhereOnlyContextsAreFull) {
  LearnerOptions options;
  options.most_names = 4;
  Learner learner(options);
  RunRecord run;
  run.hours = 1;
  run.archetype = MadeUpFleet::Archetype(0);
  run.stack = MadeUpFleet::Stack(0);
  for (std::size_t i = 0; i < 4; ++i) {
    run.context = MadeUpFleet::Context(i);
    ASSERT_TRUE(learner.Add(run).ok());
  }
  // A workload that is seen first where there is no room for its context is not there either.
  run.archetype = MadeUpFleet::Archetype(1);
  run.context = MadeUpFleet::Context(4);
  ASSERT_TRUE(learner.Add(run).ok());
  run.archetype = MadeUpFleet::Archetype(2);
  run.context = MadeUpFleet::Context(0);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(learner.Add(run).ok());
  const Learned learned = learner.Learn();
  EXPECT_EQ(learned.left_out, 1);
  EXPECT_EQ(learned.contexts.size(), 4u);
  EXPECT_THAT(
      learned.workloads,
      UnorderedElementsAre(Pair(MadeUpFleet::Archetype(0) + " " + MadeUpFleet::Stack(0), 0u),
                           Pair(MadeUpFleet::Archetype(2) + " " + MadeUpFleet::Stack(0), 1u)));
}

TEST(Learner, RefusesWhatCannotBeARun) {
  Learner learner;
  RunRecord good;
  good.archetype = MadeUpFleet::Archetype(1);
  good.stack = MadeUpFleet::Stack(1);
  good.context = "gpu=X";
  good.hours = 2;
  good.episodes = {{0, 1, {}}, {1, 2, {}}};
  ASSERT_TRUE(learner.Add(good).ok());
  const auto refuse = [&](auto change, const char* why) {
    RunRecord bad = good;
    change(bad);
    EXPECT_THAT(learner.Add(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refuse([](RunRecord& run) { run.archetype = "llama"; }, "tokens");
  refuse([](RunRecord& run) { run.context = ""; }, "context");
  refuse([](RunRecord& run) { run.gpus = 0; }, "gpus");
  refuse([](RunRecord& run) { run.hours = NAN; }, "hours");
  refuse([](RunRecord& run) { run.episodes[1].begin = 0.5; }, "in order");
  refuse([](RunRecord& run) { run.episodes[1].end = 5; }, "within the run");
  refuse([](RunRecord& run) { run.nodes.resize(5000); }, "4,096");
  refuse([](RunRecord& run) { run.planned_hours = INFINITY; }, "hours");
  for (const double value : {1e308, double{NAN}, double{-INFINITY}}) {
    refuse(
        [&](RunRecord& run) {
          run.behaviour_known = true;
          run.behaviour[2] = value;
        },
        "behaviour");
  }
  EXPECT_EQ(learner.runs(), 1);
}

}  // namespace
}  // namespace galen::advisor
