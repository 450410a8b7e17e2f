// SeriesTests of the playbooks' tests that need more than one measure, or the throughput of the
// job.
#include "services/execution/playbook/series_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace galen::playbook {
namespace tests_test {

constexpr std::size_t kPoints = 480;  // two hours

timeseries::Grid TwoHours() {
  return {absl::FromUnixSeconds(1'700'000'000), absl::Seconds(15), kPoints};
}

using Function = std::function<double(std::size_t place, std::size_t t)>;

double Noise(std::size_t place, std::size_t t) {
  std::minstd_rand bits(static_cast<unsigned>(place * 7919 + t * 31 + 1));
  bits.discard(3);
  return static_cast<double>(bits() % 1000) / 1000;
}

Rows Of(const std::string& name, std::size_t places, const Function& value) {
  Rows rows{name, "u", false, TwoHours(), {}, {places, kPoints}};
  for (std::size_t i = 0; i < places; ++i) {
    rows.places.push_back({.node = "n" + std::to_string(i)});
    for (std::size_t t = 0; t < kPoints; ++t) {
      rows.values.Row(i)[t] = static_cast<float>(value(i, t));
    }
  }
  return rows;
}

std::vector<SeriesTestResult> RunTest(const std::string& name, const JobActivity& activity,
                                      const std::vector<const Rows*>& of,
                                      const std::map<std::string, double>& numbers = {},
                                      const std::vector<const Rows*>& before = {}) {
  const playbook::SeriesTest* const test = FindSeriesTest(name);
  EXPECT_NE(test, nullptr);
  return test->run(SeriesTestInput{activity, of, before, numbers, test});
}

JobActivity Working(const Function& throughput = [](std::size_t, std::size_t t) {
  return 3000 + 30 * Noise(0, t);
}) {
  const Rows rows = Of("throughput", 1, throughput);
  return MakeJobActivity(rows.grid, &rows, nullptr);
}

std::string Text(const SeriesTestResult& seen) {
  const std::string* const text = std::get_if<std::string>(&seen.value);
  return text == nullptr ? "unknown" : *text;
}

std::string Flag(const SeriesTestResult& seen) {
  const bool* const flag = std::get_if<bool>(&seen.value);
  return flag == nullptr ? "unknown" : *flag ? "true" : "false";
}

// Slow in minutes 30 to 60 and 80 to 100.
bool Slow(std::size_t t) { return (t >= 120 && t < 240) || (t >= 320 && t < 400); }

TEST(GoesWithLossTest, OnlyWhoStandsOutWhileItIsSlowIsNamed) {
  const JobActivity activity = Working(
      [](std::size_t, std::size_t t) { return (Slow(t) ? 2340 : 3000) + 30 * Noise(0, t); });
  const Rows rows = Of("retransmissions", 8, [](std::size_t i, std::size_t t) {
    const double noise = 0.2 * Noise(i, t);
    if (i == 1 && t >= 120 && t < 240) return 400 + noise;  // the first stretch
    if (i == 2 && t >= 320 && t < 400) return 300 + noise;  // the second one
    if (i == 3 && t >= 420 && t < 460) return 500 + noise;  // while all is well
    if (i == 4) return 200 + noise;                         // always
    return noise;
  });
  const std::vector<SeriesTestResult> seen =
      RunTest("goes_with_loss", activity, {&rows}, {{"least", 1}});
  ASSERT_EQ(seen.size(), 8U);
  EXPECT_EQ(Text(seen[1]), "n1");
  EXPECT_EQ(Text(seen[2]), "n2");
  for (const std::size_t innocent : {0, 3, 4, 5, 6, 7}) {
    EXPECT_EQ(Text(seen[innocent]), "none") << innocent << ": " << seen[innocent].why;
  }
}

TEST(GoesWithLossTest, WithoutThroughputOrPeersItIsUnknown) {
  const Rows three = Of("r", 3, [](std::size_t i, std::size_t) { return i == 0 ? 100.0 : 0.0; });
  EXPECT_EQ(Text(RunTest("goes_with_loss", Working(), {&three})[0]), "unknown");
  const Rows rows = Of("r", 8, [](std::size_t, std::size_t) { return 0.0; });
  const JobActivity none = MakeJobActivity(TwoHours(), nullptr, nullptr);
  EXPECT_EQ(Text(RunTest("goes_with_loss", none, {&rows})[0]), "unknown");
}

TEST(BusyAtIdleTest, AHangIsFullUtilisationAtThePowerOfRest) {
  // The job's last step is in minute 75; utilisation stays.
  const JobActivity activity = Working(
      [](std::size_t, std::size_t t) { return t < 300 ? 3000 + 30 * Noise(0, t) : 3000.0; });
  const Rows busy = Of("utilisation", 3, [](std::size_t i, std::size_t t) {
    return i == 2 && t >= 300 ? 0.0 : 100.0;
  });
  const Rows power = Of("power", 3, [](std::size_t i, std::size_t t) {
    const bool waits = t >= 300 && i != 1;
    return (waits ? 300 : 900) + 10 * Noise(i, t);
  });
  const std::vector<SeriesTestResult> seen = RunTest("busy_at_idle", activity, {&busy, &power});
  EXPECT_EQ(Flag(seen[0]), "true");
  EXPECT_EQ(Flag(seen[1]), "false");  // still works
  EXPECT_EQ(Flag(seen[2]), "false");  // does nothing, and says so
}

TEST(BusyAtIdleTest, WithoutUtilisationItIsUnknown) {
  const Rows busy = Of("utilisation", 1, [](std::size_t, std::size_t) { return 100.0; });
  const Rows power = Of("power", 2, [](std::size_t, std::size_t) { return 900.0; });
  EXPECT_EQ(Flag(RunTest("busy_at_idle", Working(), {&busy, &power})[1]), "unknown");
}

TEST(BusyAtIdleTest, AHangInTheFirstCollectiveIsToldByWhatWasDrawnBefore) {
  const JobActivity none = MakeJobActivity(TwoHours(), nullptr, nullptr);
  const Rows busy =
      Of("utilisation", 2, [](std::size_t, std::size_t t) { return t < 60 ? 0.0 : 100.0; });
  const Rows power = Of("power", 2, [](std::size_t i, std::size_t t) {
    return (t < 60 ? 260 : i == 0 ? 300 : 900) + 5 * Noise(i, t);
  });
  const std::vector<SeriesTestResult> seen = RunTest("busy_at_idle", none, {&busy, &power});
  EXPECT_EQ(Flag(seen[0]), "true");
  EXPECT_EQ(Flag(seen[1]), "false");
}

// Four GPUs on each of five nodes; those of the set of a node wait.
Rows OnGpus(const std::string& name,
            const std::function<double(std::size_t, std::size_t, std::size_t)>& value) {
  Rows rows{name, "u", false, TwoHours(), {}, {20, kPoints}};
  for (std::size_t i = 0; i < 20; ++i) {
    rows.places.push_back({.node = "n" + std::to_string(i / 4), .device = std::to_string(i % 4)});
    for (std::size_t t = 0; t < kPoints; ++t) {
      rows.values.Row(i)[t] = static_cast<float>(value(i / 4, i % 4, t));
    }
  }
  return rows;
}

TEST(WaitsOtherwiseTest, TheNodeOnWhichOtherGpusWaitIsNamed) {
  const JobActivity activity = Working(
      [](std::size_t, std::size_t t) { return t < 300 ? 3000 + 30 * Noise(0, t) : 3000.0; });
  const auto came = [](std::size_t node, std::size_t gpu) { return node != 3 || gpu != 1; };
  const Rows busy = OnGpus("utilisation", [&](std::size_t node, std::size_t gpu, std::size_t t) {
    return t >= 300 && !came(node, gpu) ? 0.0 : 100.0;
  });
  const Rows power = OnGpus(
      "power", [&](std::size_t, std::size_t, std::size_t t) { return t >= 300 ? 300.0 : 900.0; });
  EXPECT_EQ(Flag(RunTest("most_wait", activity, {&busy, &power})[0]), "true");
  const std::vector<SeriesTestResult> seen = RunTest("waits_otherwise", activity, {&busy, &power});
  ASSERT_EQ(seen.size(), 5U);
  for (std::size_t node = 0; node < 5; ++node)
    EXPECT_EQ(Text(seen[node]), node == 3 ? "n3" : "none");
  // If nothing hangs, no node is the origin.
  const Rows works = OnGpus("power", [](std::size_t, std::size_t, std::size_t) { return 900.0; });
  EXPECT_EQ(Flag(RunTest("most_wait", activity, {&busy, &works})[0]), "false");
  EXPECT_EQ(Text(RunTest("waits_otherwise", activity, {&busy, &works})[3]), "none");
}

// The kill at point 400 of places 0 to 3, after 15 minutes of silence.
Rows Accused(std::size_t places) {
  return Of("accused", places, [](std::size_t i, std::size_t t) {
    return i < 4 && t >= 400 && t < 410 ? 900.0 : std::nan("");
  });
}

TEST(WorkedToTheEndTest, TheLivingAreToldFromTheDeadAndTheIdle) {
  const Rows power = Of("power", 8, [](std::size_t i, std::size_t t) {
    if (i == 1 && t >= 380) return std::nan("");            // gone
    if (i == 2 && t >= 350) return 280 + 10 * Noise(i, t);  // at rest within the timeout
    if (i == 3 && t >= 396) return 280 + 10 * Noise(i, t);  // at rest just before the kill
    if (t >= 400) return 280 + 10 * Noise(i, t);            // after the job
    return 900 + 20 * Noise(i, t);
  });
  const Rows accused = Accused(8);
  const std::vector<SeriesTestResult> seen =
      RunTest("worked_to_the_end", Working(), {&power, &accused});
  // Nodes that nobody accused need no proof.
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(Flag(seen[0]), "true") << seen[0].why;
  for (const std::size_t dead : {1, 2, 3}) EXPECT_EQ(Flag(seen[dead]), "false") << seen[dead].why;
}

TEST(WorkedToTheEndTest, WithoutAnAccusationNothingIsTold) {
  const Rows power = Of("power", 6, [](std::size_t i, std::size_t t) { return 900 + Noise(i, t); });
  const Rows nobody = Of("accused", 6, [](std::size_t, std::size_t) { return std::nan(""); });
  EXPECT_EQ(Flag(RunTest("worked_to_the_end", Working(), {&power, &nobody})[0]), "unknown");
  EXPECT_EQ(Flag(RunTest("stopped_before_kill", Working(), {&power, &nobody})[0]), "unknown");
}

TEST(StoppedBeforeKillTest, AProcessThatIsGoneLeavesItsGpusWithNothing) {
  const Rows busy = Of("utilisation", 6, [](std::size_t i, std::size_t t) {
    return i == 2 && t >= 340 ? 0.0 : t >= 400 ? 0.0 : 100.0;
  });
  const Rows accused = Accused(6);
  const std::vector<SeriesTestResult> seen =
      RunTest("stopped_before_kill", Working(), {&busy, &accused});
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(Flag(seen[i]), i == 2 ? "true" : "false") << i;
}

TEST(MostWaitTest, OfTooFewThatAreKnownNothingIsToldOfMost) {
  const JobActivity activity = Working(
      [](std::size_t, std::size_t t) { return t < 300 ? 3000 + 30 * Noise(0, t) : 3000.0; });
  const Rows power = OnGpus(
      "power", [&](std::size_t, std::size_t, std::size_t t) { return t >= 300 ? 300.0 : 900.0; });
  const Rows busy = OnGpus("utilisation", [](std::size_t node, std::size_t gpu, std::size_t) {
    return node == 0 && gpu == 0 ? 100.0 : std::nan("");
  });
  EXPECT_EQ(Flag(RunTest("most_wait", activity, {&busy, &power})[0]), "unknown");
  EXPECT_EQ(Text(RunTest("waits_otherwise", activity, {&busy, &power})[0]), "unknown");
}

TEST(NewCodeTest, WhatStoodBeforeTheWindowIsOfNobodyKnowsWhen) {
  const Rows codes = Of("xid", 5, [](std::size_t i, std::size_t t) {
    if (i == 1) return t >= 200 ? 94.0 : 0.0;           // comes
    if (i == 2) return 79.0;                            // stood
    if (i == 3) return t >= 200 ? 48.0 : std::nan("");  // a series that begins
    if (i == 4) return t >= 200 ? 94.0 : 13.0;          // changes
    return 0.0;
  });
  const std::vector<SeriesTestResult> seen = RunTest("new_code", Working(), {&codes});
  const double expected[] = {0, 94, -1, 48, 94};
  for (std::size_t i = 0; i < 5; ++i) {
    const double* const code = std::get_if<double>(&seen[i].value);
    EXPECT_EQ(code == nullptr ? -1 : *code, expected[i]) << i;
  }
}

TEST(AllAlikeTest, ALeakIsTheSameOnEveryHostAndANoisyHostIsNot) {
  const auto hosts = [](double more, double noisy) {
    return Of("runnable", 16, [=](std::size_t i, std::size_t t) {
      return 20 + more + 6 * Noise(i, t) + (i == 3 ? noisy : 0);
    });
  };
  const Rows before = hosts(0, 0);
  const struct {
    double more;
    double noisy;
    const char* alike;
  } kCases[] = {{17, 0, "true"}, {17, 30, "true"}, {0, 30, "false"}, {1, 0, "false"}};
  for (const auto& each : kCases) {
    const Rows now = hosts(each.more, each.noisy);
    EXPECT_EQ(Flag(RunTest("all_alike", Working(), {&now}, {{"least", 5}}, {&before})[0]),
              each.alike)
        << each.more << " " << each.noisy;
    EXPECT_NEAR(
        std::get<double>(RunTest("more_than_before", Working(), {&now}, {}, {&before})[0].value),
        each.more, 1);
  }
  EXPECT_EQ(Flag(RunTest("all_alike", Working(), {&before})[0]), "unknown");
}

TEST(RisesAsThroughputFallsTest, ALossThatGoesWithItIsToldFromOneThatDoesNot) {
  const JobActivity falling = Working([](std::size_t, std::size_t t) {
    return 3000 - 1.5 * static_cast<double>(t) + 30 * Noise(0, t);
  });
  const auto rises = [](std::size_t, std::size_t t) {
    return 0.01 + 0.00004 * static_cast<double>(t) + 0.0005 * Noise(3, t);
  };
  const auto stays = [](std::size_t, std::size_t t) { return 0.01 + 0.0005 * Noise(3, t); };
  const Rows rising = Of("load_balance_loss", 1, rises);
  const Rows steady = Of("load_balance_loss", 1, stays);
  EXPECT_EQ(Flag(RunTest("rises_as_throughput_falls", falling, {&rising})[0]), "true");
  EXPECT_EQ(Flag(RunTest("rises_as_throughput_falls", falling, {&steady})[0]), "false");
  EXPECT_EQ(Flag(RunTest("rises_as_throughput_falls", Working(), {&rising})[0]), "false");
}

TEST(DropTest, WhatAllDoAtTheSameTimeIsNobodysDrop) {
  const Rows clock = Of("clock", 8, [](std::size_t i, std::size_t t) {
    const double all = Slow(t) ? 1600 : 2000;
    return (i == 5 && t > 300 ? 0.7 : 1) * all + 10 * Noise(i, t);
  });
  const std::vector<SeriesTestResult> seen = RunTest("drop", Working(), {&clock});
  EXPECT_NEAR(std::get<double>(seen[5].value), 30, 2);
  EXPECT_LT(std::get<double>(seen[0].value), 3);
}

TEST(LeaksTest, WhatIsLeftOfMemoryLeaksWhenItShrinks) {
  const Rows left = Of("available", 2, [](std::size_t i, std::size_t t) {
    return i == 0 ? 1000 - 1.8 * static_cast<double>(t) + 5 * Noise(i, t) : 1000 + 5 * Noise(i, t);
  });
  const std::vector<SeriesTestResult> seen =
      RunTest("leaks", Working(), {&left}, {{"shrinks", 1}, {"least_growth", 0.1}});
  EXPECT_EQ(Flag(seen[0]), "true");
  EXPECT_EQ(Flag(seen[1]), "false");
}

TEST(EndedTest, OnlyWhoseNumbersEndBeforeThoseOfOthersIsGone) {
  const Rows rows = Of("power", 5, [](std::size_t i, std::size_t t) {
    return i == 2 && t > 300 ? std::nan("") : 900.0;
  });
  const std::vector<SeriesTestResult> seen = RunTest("ended", Working(), {&rows});
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(Flag(seen[i]), i == 2 ? "true" : "false");
}

}  // namespace tests_test
}  // namespace galen::playbook
