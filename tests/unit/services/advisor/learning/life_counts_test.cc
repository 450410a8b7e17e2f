#include "services/advisor/learning/life_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace galen::advisor {
namespace {

TEST(Ages, CoverAllHoursInOrder) {
  for (std::size_t age = 1; age < kAges; ++age) {
    EXPECT_LT(AgeBegin(age - 1), AgeBegin(age));
    EXPECT_EQ(AgeOf(AgeBegin(age)), age);
    EXPECT_EQ(AgeOf(std::nextafter(AgeBegin(age), 0)), age - 1);
  }
  EXPECT_EQ(AgeOf(-1), 0u);
  EXPECT_EQ(AgeOf(std::nan("")), 0u);
  EXPECT_EQ(AgeOf(1e300), kAges - 1);
  EXPECT_GT(AgeBegin(kAges - 1), 24 * 60);
}

TEST(LifeCounts, KeepEveryHourAndEveryFailureOnce) {
  LifeCounts counts;
  Signs hot{};
  hot[2] = 2;
  counts.Add(1, 0, 0, 30, Signs{}, false);
  counts.Add(1, 0, 30, 100.5, hot, true);
  double hours = 0;
  double failures = 0;
  for (const LifeCounts::Cell& cell : counts.Cells()) {
    hours += cell.hours;
    failures += cell.failures;
    if (cell.failures > 0) {
      EXPECT_EQ(cell.age, AgeOf(100.5));
      EXPECT_EQ(cell.signs, hot);
    }
  }
  EXPECT_NEAR(hours, 100.5, 1e-9);
  EXPECT_EQ(failures, 1);
  counts.Add(1, 0, 5, 2, hot, true);
  counts.Add(1, 0, 0, INFINITY, hot, true);
  EXPECT_EQ(counts.failures(), 1);
}

TEST(LifeCounts, HaveTheHoursThatAFailureCutShort) {
  const auto exposure = [](double end, bool failed, double planned) {
    LifeCounts counts;
    counts.Add(0, 0, 0, end, Signs{}, failed, planned);
    double sum = 0;
    for (const LifeCounts::Cell& cell : counts.Cells()) sum += cell.exposure;
    return sum;
  };
  EXPECT_NEAR(exposure(5, false, 10), 5, 1e-9);
  EXPECT_NEAR(exposure(5, true, 10), AgeBegin(AgeOf(5) + 1), 1e-9);
  EXPECT_NEAR(exposure(5, true, 5.25), 5.25, 1e-9);
  EXPECT_NEAR(exposure(5, true, 0), AgeBegin(AgeOf(5) + 1), 1e-9);  // the plan is not known
  EXPECT_NEAR(exposure(5, true, 3), AgeBegin(AgeOf(5) + 1), 1e-9);  // it ran longer than that
  EXPECT_NEAR(exposure(1e5, true, 2e5), 1e5, 1e-9);                 // the last age has no end
}

TEST(LifeCounts, SayWhatTheyHadNoRoomFor) {
  LifeCounts counts(4);
  for (std::uint32_t workload = 0; workload < 100; ++workload) {
    counts.Add(0, workload, 0, 0.2, Signs{}, false);
  }
  EXPECT_EQ(counts.cells(), 4u);
  EXPECT_NEAR(counts.hours_left_out(), 96 * 0.2, 1e-9);
}

TEST(LifeCounts, ForgetWorkloadsBeforeTheyLeaveAnythingOut) {
  LifeCounts counts(50);
  for (std::uint32_t workload = 0; workload < 1000; ++workload) {
    counts.Add(workload, workload % 2, 0, 2, Signs{}, workload % 10 == 0);
  }
  EXPECT_FALSE(counts.knows_workloads());
  EXPECT_EQ(counts.hours_left_out(), 0);
  double hours = 0;
  for (const LifeCounts::Cell& cell : counts.Cells()) hours += cell.hours;
  EXPECT_NEAR(hours, 2000, 1e-6);
  EXPECT_EQ(counts.failures(), 100);
}

TEST(LifeCounts, AFailureAtTheEndOfAnAgeIsOfItsHours) {
  LifeCounts counts;
  counts.Add(0, 0, 0, AgeBegin(1), Signs{}, true);
  const std::vector<LifeCounts::Cell> cells = counts.Cells();
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].age, 0u);
  EXPECT_EQ(cells[0].failures, 1);
  EXPECT_EQ(cells[0].hours, AgeBegin(1));
}

}  // namespace
}  // namespace galen::advisor
