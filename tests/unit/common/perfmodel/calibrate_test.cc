// Claims about factors, intervals and halves of measurements.
#include "common/perfmodel/calibrate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/perfmodel/holdout.h"
#include "common/perfmodel/predict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/perfmodel/world.h"

namespace galen::perfmodel {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Measurement Rate(const std::string& id, double share) {
  Measurement one;
  one.id = id;
  one.machine = SomeMachine();
  one.resource = "memory";
  one.value = share * one.machine.memory;
  return one;
}

Measurement Transfer(const std::string& id, double bytes, const Factors& world) {
  Measurement one;
  one.id = id;
  one.kind = Measured::kTransfer;
  one.machine = SomeMachine();
  one.group = {8, 8};
  one.bytes = bytes;
  one.value = *Predict(one, world);
  return one;
}

Measurement Step(const std::string& id, const std::string& layout, const Factors& world) {
  Measurement one;
  one.id = id;
  one.kind = Measured::kStep;
  one.machine = SomeMachine();
  one.job = SmallJob(layout);
  one.value = *Predict(one, world);
  return one;
}

// A world in which the factors are true, measured without error.
std::vector<Measurement> World(const Factors& world) {
  std::vector<Measurement> all = {Rate("m1", 0.9), Rate("m2", 0.9), Rate("m3", 0.9)};
  for (const double bytes : {2e9, 4e6, 8e9, 64e6}) {
    all.push_back(Transfer(absl::StrCat("t", bytes), bytes, world));
  }
  for (int i = 0; i < 3; ++i) {
    Measurement one = Rate(absl::StrCat("c", i), 1);
    one.resource = "compute";
    one.precision = "bf16";
    one.value = 80e12;
    all.push_back(one);
    one.id = absl::StrCat("n", i);
    one.kind = Measured::kTransfer;
    one.machine.nics = 50e9;
    one.group = {16, 8};
    one.bytes = i == 2 ? 64e6 : 4e9;
    one.value = *Predict(one, world);
    all.push_back(one);
  }
  for (const char* layout : {"gpus=8", "gpus=8,tp=8", "gpus=16,zero=1", "gpus=8,pp=4",
                             "gpus=32,zero=3", "gpus=8,recompute=full"}) {
    all.push_back(Step(layout, layout, world));
  }
  return all;
}

TEST(Calibration, FindsTheFactorsThatMadeTheMeasurements) {
  Factors world = SomeFactors();
  world.Set("overlap", 0.6);
  const auto found = Calibrate(World(world));
  ASSERT_TRUE(found.ok()) << found.status();
  for (const char* name : {"memory", "compute.nvidia.16bit"}) {
    EXPECT_NEAR(*found->factors.At(name), *world.At(name), 1e-6) << name;
  }
  // A collective of 1 GiB and more still has its latency in it.
  EXPECT_NEAR(*found->factors.At("ring.nvlink"), 0.75, 0.005);
  EXPECT_NEAR(*found->factors.At("net.roce"), 0.9, 0.005);
  EXPECT_NEAR(*found->factors.At("step"), 0.7, 0.01);
  EXPECT_NEAR(*found->factors.At("overlap"), 0.6, 0.1);
  EXPECT_TRUE(found->unused.empty());
}

TEST(Calibration, OneBrokenMachineDoesNotMoveAFactor) {
  std::vector<Measurement> all = World(SomeFactors());
  all.push_back(Rate("broken", 0.05));
  EXPECT_NEAR(*Calibrate(all)->factors.At("memory"), 0.9, 1e-6);
}

TEST(Calibration, AStepThatNoShareExplainsIsNotUsed) {
  for (const double times : {1e-6, 1e6}) {
    std::vector<Measurement> all = World(SomeFactors());
    const auto without = Calibrate(all);
    Measurement impossible = Step("impossible", "gpus=8,tp=2", SomeFactors());
    impossible.value *= times;
    all.push_back(impossible);
    const auto with = Calibrate(all);
    ASSERT_TRUE(with.ok()) << with.status();
    EXPECT_EQ(with->factors.all(), without->factors.all()) << times;
    EXPECT_EQ(with->misses.at("step"), without->misses.at("step")) << times;
    ASSERT_EQ(with->unused.size(), 1U) << times;
    EXPECT_THAT(with->unused.front(), AllOf(HasSubstr("impossible: "), HasSubstr("allows")));
  }
}

// Steps of a world that hides all, and one that is too fast for a world that hides less than half:
// it misses by far where it can be explained.
TEST(Calibration, AnOverlapDoesNotWinBecauseAStepDropsOut) {
  const Factors world = SomeFactors();
  std::vector<Measurement> all = World(world);
  Factors fast = world;
  fast.Set("step", 4);
  fast.Set("overlap", 0.45);
  Measurement odd = Step("odd", "gpus=32,zero=3", fast);
  all.push_back(odd);
  const auto found = Calibrate(all);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_NEAR(*found->factors.At("overlap"), 1.0, 0.1);
}

TEST(Calibration, ASmallCollectiveThatTellsNothingIsNotUsed) {
  const Factors world = SomeFactors();
  // Without one of 1 GiB and more nothing says which part of its time its bytes take.
  const auto alone = Calibrate({{Transfer("small", 4e6, world)}});
  ASSERT_TRUE(alone.ok()) << alone.status();
  ASSERT_EQ(alone->unused.size(), 1U);
  EXPECT_THAT(alone->unused.front(), AllOf(HasSubstr("small: "), HasSubstr("ring.nvlink")));
  EXPECT_TRUE(alone->factors.all().empty());
  EXPECT_TRUE(alone->told_by.empty());

  Measurement net = Transfer("net", 4e9, world);
  net.machine.nics = 50e9;
  net.group = {16, 8};
  Measurement small_net = net;
  small_net.id = "small-net";
  small_net.bytes = 64e6;
  net.value = *Predict(net, world);
  small_net.value = *Predict(small_net, world);
  const auto between = Calibrate({{net, small_net}});
  ASSERT_TRUE(between.ok()) << between.status();
  ASSERT_EQ(between->unused.size(), 1U);
  EXPECT_THAT(between->unused.front(), AllOf(HasSubstr("small-net: "), HasSubstr("within a node")));
  EXPECT_FALSE(between->factors.At("latency.net").ok());
}

TEST(Calibration, ALatencyThatNothingTellsIsNotSet) {
  const auto large = Calibrate({{Transfer("large", 8e9, SomeFactors())}});
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_TRUE(large->factors.At("ring.nvlink").ok());
  for (const char* name : {"latency.node", "latency.net"}) {
    EXPECT_FALSE(large->factors.At(name).ok()) << name;
    EXPECT_EQ(large->told_by.count(name), 0U) << name;
  }
}

TEST(Calibration, WhatIsHeldOutTellsNothing) {
  std::vector<Measurement> all = World(SomeFactors());
  Measurement odd = Rate("odd", 0.1);
  odd.held_out = true;
  const auto without = Calibrate(all);
  for (int i = 0; i < 9; ++i) all.push_back(odd);
  EXPECT_EQ(Calibrate(all)->factors.all(), without->factors.all());
}

TEST(Calibration, WhatWasNotMeasuredIsRefused) {
  EXPECT_THAT(std::string(Calibrate({{Rate("zero", 0)}}).status().message()), HasSubstr("zero"));
  EXPECT_FALSE(Calibrate({{Rate("nan", std::nan(""))}}).ok());
  EXPECT_FALSE(Calibrate(std::vector<Measurement>(kMostMeasurements + 1, Rate("m", 1))).ok());
  const auto none = Calibrate({});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(IntervalOf(*none, "step", 1, 0.9).ok());
}

TEST(Factors, TheUnknownIsWhatIsMoreGeneral) {
  Factors factors;
  factors.Set("ring", 0.5);
  factors.Set("ring.nvlink", 0.8);
  EXPECT_DOUBLE_EQ(*factors.At("ring.nvlink"), 0.8);
  EXPECT_DOUBLE_EQ(*factors.At("ring.pcie"), 0.5);
  EXPECT_FALSE(factors.At("net.roce").ok());
}

TEST(Interval, SaysNoMoreThanItsMeasurementsAllow) {
  Calibration calibration;
  calibration.misses["rate"] = {0.1, 0.2, 0.3};
  const auto interval = IntervalOf(calibration, "rate", 10, 0.99);
  ASSERT_TRUE(interval.ok());
  EXPECT_DOUBLE_EQ(interval->confidence, 0.75);
  EXPECT_NEAR(interval->high, 10 * std::exp(0.3), 1e-9);
}

// 400 worlds in which measurements scatter, with outliers: the interval of one more measurement.
TEST(Interval, CoversAsOftenAsItSays) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.1);
  std::uniform_real_distribution<double> chance(0, 1);
  const auto value = [&] { return 0.8 * std::exp((chance(random) < 0.1 ? 4 : 1) * noise(random)); };
  int covered = 0;
  constexpr int kWorlds = 400;
  for (int world = 0; world < kWorlds; ++world) {
    std::vector<Measurement> all;
    for (int i = 0; i < 19; ++i) all.push_back(Rate(absl::StrCat(i), value()));
    const auto calibration = Calibrate(all);
    ASSERT_TRUE(calibration.ok());
    const Measurement next = Rate("next", value());
    const auto interval =
        IntervalOf(*calibration, "rate", *Predict(next, calibration->factors), 0.9);
    ASSERT_TRUE(interval.ok());
    covered += interval->low <= next.value && next.value <= interval->high ? 1 : 0;
  }
  // Three standard deviations of a fair count below 90 %.
  EXPECT_GE(covered, 0.9 * kWorlds - 3 * std::sqrt(0.09 * kWorlds));
}

TEST(Halves, WhatCalibratesIsNeverTested) {
  const std::vector<Measurement> all = World(SomeFactors());
  for (const std::optional<std::uint32_t> seed :
       {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(3)}) {
    const auto trial = TryHalf(all, 0.9, seed);
    ASSERT_TRUE(trial.ok()) << trial.status();
    EXPECT_GE(trial->calibrated.size(), trial->tested.size());
    EXPECT_EQ(trial->calibrated.size() + trial->tested.size() + trial->untested.size(), all.size());
    for (const Tested& tested : trial->tested) {
      EXPECT_EQ(std::count(trial->calibrated.begin(), trial->calibrated.end(), tested.measurement),
                0);
    }
    EXPECT_LT(ErrorsOf(*trial, std::nullopt, false).worst, 0.05);
  }
}

}  // namespace
}  // namespace galen::perfmodel
