#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/services/node/checks/cuda/fake_driver.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;
using ::testing::HasSubstr;

TEST(StressPower, AGoodGpuReachesItsPowerAndComputesRight) {
  FakeGpuMachine machine("");
  const CheckResult result = machine.Run("gpu.stress_power", {{"seconds", "1"}});
  EXPECT_EQ(result.status(), CheckResult::PASS) << result.message();
  EXPECT_EQ(ValueOf(result, "device_lost", "gpu:0"), "false");
  EXPECT_EQ(ValueOf(result, "reached_target_power", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(result, "wrong_results", "gpu:0"), "0");
  EXPECT_EQ(ValueOf(result, "power_w", "gpu:0"), "390");
  EXPECT_EQ(ValueOf(result, "power_limit_w", "gpu:0"), "400");
  EXPECT_EQ(ValueOf(result, "sm_clock_min_mhz", "gpu:0"), "1410");
  EXPECT_EQ(ValueOf(result, "temperature_max_c", "gpu:0"), "61");
  // The full load did no harm, so the effect of a lower limit is unknown.
  EXPECT_EQ(ValueOf(result, "stable_at_lower_limit", "gpu:0"), "unknown");
}

TEST(StressPower, LessThanTheTargetIsToldAndIsNoFaultByItself) {
  FakeGpuMachine machine("power 200\n");
  const CheckResult result = machine.Run("gpu.stress_power", {{"seconds", "1"}});
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "reached_target_power", "gpu:0"), "false");
}

TEST(StressPower, AGpuLostUnderFullLoadOnlyWasStableAtLess) {
  // Lost once it has worked this long without a rest; the gentle phase rests after 255 launches.
  FakeGpuMachine machine("overload 1 400\n");
  const CheckResult result = machine.Run("gpu.stress_power", {{"seconds", "3"}});
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "device_lost", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(result, "stable_at_lower_limit", "gpu:1"), "true");
  EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:1"), "999");
  EXPECT_EQ(ValueOf(result, "device_lost", "gpu:0"), "false");
  EXPECT_THAT(result.message(), HasSubstr("lost under load"));
  EXPECT_THAT(result.excerpt(), HasSubstr("gpu:1 gentle: through"));
  EXPECT_THAT(result.excerpt(), HasSubstr("gpu:1 full: not through"));
}

TEST(StressPower, AnErrorThatTheGpuSurvivesIsNoLostGpu) {
  FakeGpuMachine machine("error cuLaunchKernel 719 1 10\n");
  const CheckResult result = machine.Run("gpu.stress_power");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:1"), "719");
  // A fresh process gets a context again.
  EXPECT_EQ(ValueOf(result, "device_lost", "gpu:1"), "false");
}

TEST(StressPower, AGpuThatAnotherProcessTookIsNotLost) {
  for (const char* code : {"2", "46"}) {
    FakeGpuMachine machine(absl::StrCat("error cuCtxCreate ", code, " 1 0\n"));
    const CheckResult result = machine.Run("gpu.stress_power");
    EXPECT_NE(result.status(), CheckResult::FAIL) << result.message();
    EXPECT_EQ(ValueOf(result, "device_lost", "gpu:1"), "unknown");
    EXPECT_EQ(ValueOf(result, "device_lost", "gpu:0"), "false");
  }
}

TEST(StressPower, AGpuThatGivesNoContextAnyMoreIsLost) {
  FakeGpuMachine machine("error cuCtxCreate 101 1 0\n");
  EXPECT_EQ(ValueOf(machine.Run("gpu.stress_power"), "device_lost", "gpu:1"), "true");
}

TEST(StressPower, WrongResultsFromTheStartAreNotStableAtLess) {
  FakeGpuMachine machine("sm 1 0 flip\n");
  const CheckResult result = machine.Run("gpu.stress_power");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_TRUE(IsAbnormal(result, "wrong_results", "gpu:1"));
  EXPECT_EQ(ValueOf(result, "stable_at_lower_limit", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(result, "stable_at_lower_limit", "gpu:0"), "unknown");
  EXPECT_THAT(result.message(), HasSubstr("wrong results under load"));
}

}  // namespace
}  // namespace galen::node
