// Claims about the signs that are noticed minute by minute.
#include "services/watch/early_warning/detection/detectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::watch::detection {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

const RuleSet& Shipped() {
  static const RuleSet rule_set = LoadRules({absl::StrCat(GALEN_SOURCE_DIR, "/knowledge")}).value();
  return rule_set;
}

// Noise that is the same each time, of deviation 1 or so.
float Noise(std::int64_t minute, std::size_t slot) {
  std::uint64_t x =
      static_cast<std::uint64_t>(minute) * 0x9E3779B97F4A7C15ULL + slot * 0xD1B54A32D192ED03ULL;
  float sum = 0;
  for (int i = 0; i < 4; ++i) {
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9ULL;
    sum += static_cast<float>(x >> 40) / static_cast<float>(1 << 24) - 0.5F;
  }
  return sum * 1.7F;
}

// Subjects of one kind whose values a test makes up.
class Fleet {
 public:
  using Value = std::function<float(std::int64_t minute, std::size_t slot)>;
  Fleet(Of of, std::size_t slots, const RuleSet& rule_set = Shipped())
      : detectors_(rule_set, of), groups_(slots, 1) {}

  void Set(const std::string& measure, Value value) { values_[measure] = std::move(value); }
  void Unset(const std::string& measure) { values_.erase(measure); }
  void Job(std::size_t slot, std::int32_t job) { groups_[slot] = job; }
  Detectors& detectors() { return detectors_; }
  std::int64_t now() const { return now_; }

  // After this many minutes; the highest score of each rule and slot, by "rule/slot".
  std::map<std::string, float> Run(int minutes) {
    std::map<std::string, float> highest;
    for (int i = 0; i < minutes; ++i) {
      ++now_;
      for (const Sign& sign : StepOnce()) {
        float& score = highest[absl::StrCat(detectors_.rules()[sign.rule]->name, "/", sign.slot)];
        score = std::max(score, sign.score);
      }
    }
    return highest;
  }
  void Pass(int minutes) { now_ += minutes; }

 private:
  std::vector<Sign> StepOnce() {
    Moment moment;
    moment.minute = now_;
    moment.groups = groups_;
    std::vector<std::vector<float>> columns;
    for (const std::string& measure : detectors_.measures()) {
      columns.emplace_back();
      const auto value = values_.find(measure);
      if (value == values_.end()) continue;
      for (std::size_t slot = 0; slot < groups_.size(); ++slot) {
        columns.back().push_back(value->second(now_, slot));
      }
    }
    for (const auto& column : columns) moment.columns.emplace_back(column);
    return detectors_.Step(moment);
  }

  Detectors detectors_;
  std::vector<std::int32_t> groups_;
  std::map<std::string, Value> values_;
  std::int64_t now_ = 1000;
};

// Sixteen busy GPUs of one job. `slow`, from minute `from` on: with this power draw, at this clock.
Fleet BusyGpus(std::int64_t from, float watts, float mhz) {
  Fleet fleet(Of::kGpu, 16);
  fleet.Set("gpu_utilization", [](auto, auto) { return 100.0F; });
  fleet.Set("gpu_power", [=](std::int64_t minute, std::size_t slot) {
    return (slot == 3 && minute >= from ? watts : 340) + 5 * Noise(minute, slot);
  });
  fleet.Set("gpu_clock", [=](std::int64_t minute, std::size_t slot) {
    return (slot == 3 && minute >= from ? mhz : 1400) + 5 * Noise(minute, slot + 50);
  });
  return fleet;
}

TEST(WarningDetectors, AGpuHeldAt200Of1410MHzIsNoticedByPowerAndClockWithinTwoMinutes) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  EXPECT_TRUE(fleet.Run(199).empty());
  const auto signs = fleet.Run(2);
  EXPECT_GE(signs.at("power_below_work/3"), 1);
  EXPECT_GE(signs.at("clock_below_peers/3"), 1);
  EXPECT_EQ(signs.size(), 2u);
}

TEST(WarningDetectors, NoiseAndWhatAGpuAlwaysDiffersByAreNothing) {
  EXPECT_TRUE(BusyGpus(0, 320, 1385).Run(2000).empty());
}

TEST(WarningDetectors, AGpuThatIsIdleMayDrawLittle) {
  Fleet fleet = BusyGpus(1200, 60, 210);
  fleet.Set("gpu_utilization", [](std::int64_t minute, std::size_t slot) {
    return slot == 3 && minute >= 1200 ? 0.0F : 100.0F;
  });
  EXPECT_TRUE(fleet.Run(400).empty());
}

TEST(WarningDetectors, WhatAllOfAJobDoIsNobodys) {
  Fleet fleet = BusyGpus(1 << 30, 0, 0);
  fleet.Set("gpu_power", [](std::int64_t minute, std::size_t slot) {
    return (minute > 1200 ? 150 : 340) + 5 * Noise(minute, slot);
  });
  EXPECT_TRUE(fleet.Run(600).empty());
}

TEST(WarningDetectors, MissingIsUnknownAndNeverZero) {
  Fleet fleet = BusyGpus(1200, kMissing, kMissing);
  EXPECT_TRUE(fleet.Run(600).empty());
  fleet.Set("gpu_utilization", [](auto, auto) { return kMissing; });
  EXPECT_TRUE(fleet.Run(60).empty());
}

TEST(WarningDetectors, WithoutPeersNothingIsSaidOfPeers) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  for (std::size_t slot = 0; slot < 16; ++slot) fleet.Job(slot, static_cast<std::int32_t>(slot));
  EXPECT_TRUE(fleet.Run(600).empty());
}

TEST(WarningDetectors, AClockBelowWhatTheModelHoldsIsNoticedWithoutPeers) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  for (std::size_t slot = 0; slot < 16; ++slot) fleet.Job(slot, static_cast<std::int32_t>(slot));
  fleet.Set("gpu_clock_max", [](auto, auto) { return 1410.0F; });
  EXPECT_THAT(fleet.Run(600), ::testing::Contains(::testing::Key("clock_below_model/3")));
}

TEST(WarningDetectors, AnExporterThatRepeatsItselfIsNoGpu) {
  Fleet fleet = BusyGpus(1 << 30, 0, 0);
  // The last words of a GPU that was idle: they are repeated to the last bit.
  fleet.Set("gpu_power", [](std::int64_t minute, std::size_t slot) {
    return slot == 3 && minute > 1100 ? 61.5F : 340 + 5 * Noise(minute, slot);
  });
  fleet.Set("gpu_clock", [](std::int64_t minute, std::size_t slot) {
    return slot == 3 && minute > 1106 ? 210.0F : 1400 + 5 * Noise(minute, slot + 50);
  });
  const auto signs = fleet.Run(600);
  EXPECT_FALSE(signs.contains("clock_below_peers/3"));
}

TEST(WarningDetectors, AJobThatBeginsIsLeftToWarmUp) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  fleet.Run(199);
  for (std::size_t slot = 0; slot < 16; ++slot) fleet.Job(slot, 2);
  EXPECT_TRUE(fleet.Run(9).empty());
  EXPECT_FALSE(fleet.Run(10).empty());
}

TEST(WarningDetectors, WhatIsOverIsSoonOver) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  fleet.Run(500);
  fleet.Set("gpu_power",
            [](std::int64_t minute, std::size_t slot) { return 340 + 5 * Noise(minute, slot); });
  fleet.Set("gpu_clock", [](std::int64_t minute, std::size_t slot) {
    return 1400 + 5 * Noise(minute, slot + 50);
  });
  fleet.Run(60);
  EXPECT_TRUE(fleet.Run(10).empty());
}

TEST(WarningDetectors, MemoryErrorsThatComeFasterAreNoticedAndABurstIsNot) {
  Fleet fleet(Of::kGpu, 8);
  fleet.Set("gpu_ecc_correctable", [](std::int64_t minute, std::size_t slot) {
    if (slot == 1) return minute == 1100 ? 1e6F : 0.0F;  // once very many
    if (slot == 2) return minute > 1100 ? 3.0F : 0.0F;   // a few, and on and on
    return 0.0F;
  });
  const auto signs = fleet.Run(300);
  EXPECT_GE(signs.at("ecc_builds_up/2"), 1);
  EXPECT_FALSE(signs.contains("ecc_builds_up/1"));
}

TEST(WarningDetectors, WhatACounterGatheredOutlivesTheJob) {
  Fleet fleet(Of::kGpu, 8);
  fleet.Set("gpu_nvlink_replays", [](std::int64_t minute, std::size_t slot) {
    return slot == 2 && minute % 30 == 0 ? 1.0F : 0.0F;
  });
  std::map<std::string, float> signs;
  for (int job = 0; job < 20; ++job) {
    fleet.Job(2, job);
    for (const auto& [name, score] : fleet.Run(60)) signs[name] = std::max(signs[name], score);
  }
  EXPECT_GE(signs.at("nvlink_replays/2"), 1);
}

TEST(WarningDetectors, CongestionOfAJobIsNoMachines) {
  Fleet fleet(Of::kNode, 8);
  fleet.Set("rdma_retransmissions",
            [](std::int64_t minute, std::size_t slot) { return 100 + 10 * Noise(minute, slot); });
  EXPECT_TRUE(fleet.Run(600).empty());
  fleet.Set("rdma_retransmissions", [](std::int64_t minute, std::size_t slot) {
    return (slot == 5 ? 400 : 100) + 10 * Noise(minute, slot);
  });
  EXPECT_GE(fleet.Run(60).at("rdma_retransmissions/5"), 1);
}

TEST(WarningDetectors, MemoryThatGoesToItsEndIsNoticedHoursBeforeAndASawtoothIsNot) {
  Fleet fleet(Of::kNode, 3);
  fleet.Set("host_memory_total", [](auto, auto) { return 2e12F; });
  fleet.Set("host_memory_available", [](std::int64_t minute, std::size_t slot) {
    const auto passed = static_cast<float>(minute - 1000);
    float share = 0.7F + 0.003F * Noise(minute, slot);
    if (slot == 1) share -= passed / 1440 * 0.7F;                 // gone in a day
    if (slot == 2) share -= 0.3F * std::fmod(passed, 300) / 300;  // fills and empties
    return 2e12F * share;
  });
  auto before = fleet.Run(900);
  EXPECT_LT(before["host_memory_leak/2"], 1);
  auto signs = fleet.Run(360);  // three hours before the end
  EXPECT_GE(signs.at("host_memory_leak/1"), 1);
  EXPECT_FALSE(signs.contains("host_memory_leak/0"));
  EXPECT_LT(signs["host_memory_leak/2"], 1);
}

TEST(WarningDetectors, AJobBelowItsPredictionIsNoticedAndACheckpointIsNot) {
  Fleet fleet(Of::kJob, 2);
  fleet.Set("throughput_predicted_low", [](auto, auto) { return 920.0F; });
  fleet.Set("throughput", [](std::int64_t minute, std::size_t slot) {
    const float usual = minute % 45 < 3 ? 300 : 1000 + 10 * Noise(minute, slot);
    return slot == 1 && minute > 1500 ? usual * 0.85F : usual;
  });
  const auto before = fleet.Run(500);
  EXPECT_TRUE(before.empty() || before.begin()->second < 1);
  const auto signs = fleet.Run(45);
  EXPECT_GE(signs.at("throughput_below_prediction/1"), 1);
  EXPECT_GE(signs.at("throughput_below_own/1"), 1);
}

TEST(WarningDetectors, AnotherOneGoesOnFromWhatWasSaved) {
  Fleet first = BusyGpus(1200, 290, 1330);
  Fleet second = BusyGpus(1200, 290, 1330);
  first.Run(202);
  second.Pass(202);
  second.detectors().SetMinute(first.detectors().minute());
  for (std::size_t slot = 0; slot < 16; ++slot) {
    ASSERT_THAT(second.detectors().Restore(slot, 1, first.detectors().Save(slot)), IsOk());
  }
  const auto expected = first.Run(20);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(second.Run(20), expected);
}

// 5 hours unwatched, with a sum that was near its limit: the state in between is unknown.
TEST(WarningDetectors, AfterHoursUnseenNothingIsKnown) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  EXPECT_FALSE(fleet.Run(202).empty());
  fleet.Pass(300);
  for (const char* measure : {"gpu_power", "gpu_clock"}) {
    fleet.Set(measure,
              [](std::int64_t minute, std::size_t slot) { return 340 + 5 * Noise(minute, slot); });
  }
  EXPECT_TRUE(fleet.Run(1).empty());
}

// As when all of an exporter's series are gone: no column, in place of one without a value.
TEST(WarningDetectors, AQuantityThatNobodyMeasuresAnyMoreIsUnknown) {
  Fleet fleet(Of::kGpu, 8);
  const auto replays = [](std::int64_t, std::size_t slot) { return slot == 2 ? 1.0F : 0.0F; };
  fleet.Set("gpu_nvlink_replays", replays);
  EXPECT_GE(fleet.Run(30).at("nvlink_replays/2"), 1);
  fleet.Unset("gpu_nvlink_replays");
  EXPECT_TRUE(fleet.Run(130).empty());
  fleet.Set("gpu_nvlink_replays", replays);
  EXPECT_TRUE(fleet.Run(1).empty());
}

TEST(WarningDetectors, AHabitThatNoSubjectMayHaveIsNotRestored) {
  for (const float habit : {-1e6F, 1e6F}) {
    Fleet fleet(Of::kGpu, 4);
    fleet.Set("gpu_nvlink_replays", [](auto, std::size_t slot) { return slot == 2 ? 1.0F : 0.0F; });
    const float before = fleet.Run(8).at("nvlink_replays/2");
    for (std::size_t slot = 0; slot < 4; ++slot) {
      std::vector<float> saved = fleet.detectors().Save(slot);
      for (std::size_t at = 2; at < saved.size(); at += 5) saved[at] = habit;
      ASSERT_THAT(fleet.detectors().Restore(slot, 1, saved), IsOk());
    }
    const auto after = fleet.Run(1);
    EXPECT_EQ(after.size(), 1u) << "of no other one";
    EXPECT_GE(after.at("nvlink_replays/2"), before);
  }
}

TEST(WarningDetectors, RulesThatChangedPlacesHaveAnotherDigest) {
  RuleSet rule_set = Shipped();
  const std::uint64_t shipped = Detectors(rule_set, Of::kGpu).Digest();
  EXPECT_EQ(Detectors(Shipped(), Of::kGpu).Digest(), shipped);
  EXPECT_NE(Detectors(rule_set, Of::kNode).Digest(), shipped);
  rule_set.rules[0].limit *= 2;
  EXPECT_EQ(Detectors(rule_set, Of::kGpu).Digest(), shipped)
      << "of the same quantity by the same test";
  std::swap(rule_set.rules[0], rule_set.rules[1]);
  EXPECT_NE(Detectors(rule_set, Of::kGpu).Digest(), shipped);
  std::swap(rule_set.rules[0], rule_set.rules[1]);
  rule_set.rules[0].measure = "gpu_clock";
  EXPECT_NE(Detectors(rule_set, Of::kGpu).Digest(), shipped);
}

TEST(WarningDetectors, WhatIsNotOursIsNotRestored) {
  Fleet fleet = BusyGpus(1200, 95, 200);
  EXPECT_THAT(fleet.detectors().Restore(0, 1, {1.0F, 2.0F}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("starts over")));
  fleet.Run(3);
  std::vector<float> saved = fleet.detectors().Save(0);
  saved[1] = kMissing;
  EXPECT_THAT(fleet.detectors().Restore(0, 1, saved),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("starts over")));
  for (float& number : saved) number = 3e38F;
  EXPECT_THAT(fleet.detectors().Restore(0, 1, saved), IsOk());
  fleet.Run(100);  // and does not crash
}

TEST(WarningDetectors, AMomentThatIsNoneIsPassedOver) {
  Detectors detectors(Shipped(), Of::kGpu);
  Moment moment;
  moment.minute = 5;
  EXPECT_TRUE(detectors.Step(moment).empty());  // no columns
  const std::vector<float> three(3, 1.0F);
  const std::vector<std::int32_t> groups(4, 1);
  moment.groups = groups;
  moment.columns.assign(detectors.measures().size(), three);
  EXPECT_TRUE(detectors.Step(moment).empty());  // three values of four subjects
  EXPECT_EQ(detectors.minute(), 0);
}

}  // namespace
}  // namespace galen::watch::detection
