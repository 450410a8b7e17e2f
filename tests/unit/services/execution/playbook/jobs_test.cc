#include "services/execution/playbook/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace galen::playbook {
namespace jobs_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kPoints = 400;

timeseries::Grid Axis() {
  return {absl::FromUnixSeconds(1'700'000'000), absl::Seconds(15), kPoints};
}

double Noise(std::size_t place, std::size_t t) {
  std::minstd_rand bits(static_cast<unsigned>(place * 7919 + t * 31 + 1));
  bits.discard(3);
  return static_cast<double>(bits() % 1000) / 1000;
}

// Each job writes checkpoints at its own times.
bool Saves(bool first, std::size_t t) {
  return t % 60 == (first ? 10U : 37U) || t % 60 == (first ? 11U : 38U);
}

struct JobActivity {
  Rows throughput{"throughput", "tokens/s", false, Axis(), {}, {2, kPoints}};
  Rows power{"gpu_power", "W", false, Axis(), {}, {6, kPoints}};

  // Machines n0, n2 and n4 work for the first job, the others for the second one.
  explicit JobActivity(bool saves = true, std::size_t second_begins = 0) {
    throughput.places = {{.node = "n0", .job = "71"}, {.node = "n1", .job = "72"}};
    for (std::size_t t = 0; t < kPoints; ++t) {
      throughput.values.Row(0)[t] = static_cast<float>(3000 + 10 * Noise(0, t));
      if (t >= second_begins)
        throughput.values.Row(1)[t] = static_cast<float>(2960 + 10 * Noise(1, t));
      for (std::size_t i = 0; i < 6; ++i) {
        const double dip = saves && Saves(i % 2 == 0, t) ? 200 : 0;
        power.values.Row(i)[t] = static_cast<float>(900 - dip + 20 * Noise(i + 2, t));
      }
    }
    for (std::size_t i = 0; i < 6; ++i) power.places.push_back({.node = "n" + std::to_string(i)});
  }
};

TEST(JobsTest, MachinesBelongToTheJobWithWhichTheirPowerGoesUpAndDown) {
  const JobActivity activity;
  const TwoJobs jobs = FindTwoJobs(activity.throughput, activity.power);
  EXPECT_EQ(jobs.slower, "72");
  EXPECT_EQ(jobs.faster, "71");
  EXPECT_THAT(jobs.faster_nodes, ElementsAre("n0", "n2", "n4"));
  EXPECT_THAT(jobs.slower_nodes, ElementsAre("n1", "n3", "n5"));
}

TEST(JobsTest, WithoutUpsAndDownsNobodyIsToldApart) {
  const JobActivity activity(/*saves=*/false);
  const TwoJobs jobs = FindTwoJobs(activity.throughput, activity.power);
  EXPECT_EQ(jobs.slower, "72");
  EXPECT_THAT(jobs.slower_nodes, IsEmpty());
  EXPECT_THAT(jobs.faster_nodes, IsEmpty());
}

TEST(JobsTest, OneAfterTheOtherAreNotBesideEachOther) {
  JobActivity activity(/*saves=*/true, /*second_begins=*/200);
  for (std::size_t t = 200; t < kPoints; ++t)
    activity.throughput.values.Row(0)[t] = timeseries::kUnknown;
  EXPECT_EQ(FindTwoJobs(activity.throughput, activity.power).slower, "");
  activity.throughput.places[1].job = "71";
  EXPECT_EQ(FindTwoJobs(activity.throughput, activity.power).slower, "");
}

}  // namespace jobs_test
}  // namespace galen::playbook
