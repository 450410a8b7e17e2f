#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/services/node/checks/cuda/fake_driver.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;
using ::testing::HasSubstr;

int Pairs(const CheckResult& result) {
  int pairs = 0;
  for (const galen::v1::Finding& finding : result.findings()) {
    if (finding.name() == "gb_s" && finding.value_case() != galen::v1::Finding::VALUE_NOT_SET) {
      ++pairs;
    }
  }
  return pairs;
}

TEST(PeerBandwidth, EveryOrderedPairIsMeasuredAndCompared) {
  FakeGpuMachine machine("gpus 3\n", 3);
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::PASS) << result.message();
  EXPECT_EQ(Pairs(result), 6);
  EXPECT_NEAR(std::stod(ValueOf(result, "gb_s", "gpu:2-gpu:0")), 280, 1);
  EXPECT_EQ(ValueOf(result, "access", "gpu:2-gpu:0"), "true");
  EXPECT_EQ(ValueOf(result, "data_wrong", "gpu:2-gpu:0"), "false");
  EXPECT_EQ(ValueOf(result, "floor_gb_s", "gpu:2-gpu:0"), "235");
  EXPECT_THAT(result.message(), HasSubstr("6 of 6 pairs: at least 280 GB/s"));
}

TEST(PeerBandwidth, ASlowDirectionIsThatDirectionOnly) {
  FakeGpuMachine machine("pair 0 1 slow\n");
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_TRUE(IsAbnormal(result, "gb_s", "gpu:0-gpu:1"));
  EXPECT_FALSE(IsAbnormal(result, "gb_s", "gpu:1-gpu:0"));
}

TEST(PeerBandwidth, WrongDataAreTold) {
  FakeGpuMachine machine("pair 1 0 corrupt\n");
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_TRUE(IsAbnormal(result, "data_wrong", "gpu:1-gpu:0"));
  EXPECT_EQ(ValueOf(result, "data_wrong", "gpu:0-gpu:1"), "false");
  EXPECT_THAT(result.message(), HasSubstr("gpu:1-gpu:0: what arrives is not what was sent"));
}

TEST(PeerBandwidth, APairThatHangsIsNamedAndTheOthersAreMeasured) {
  FakeGpuMachine machine("gpus 3\npair 0 2 hang\n", 3);
  const CheckResult result = machine.Run("gpu.peer_bandwidth", {{"patience", "0.01"}});
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "hung", "gpu:0-gpu:2"), "true");
  EXPECT_EQ(ValueOf(result, "gb_s", "gpu:0-gpu:2"), "unknown");
  EXPECT_EQ(ValueOf(result, "data_wrong", "gpu:0-gpu:2"), "unknown");
  EXPECT_EQ(Pairs(result), 5);
  EXPECT_EQ(ValueOf(result, "hung", "gpu:2-gpu:1"), "false");
}

TEST(PeerBandwidth, CopiesThatGoOnDoNotHang) {
  // All copies of a pair take longer than a single one may.
  FakeGpuMachine machine("mib 48\n");
  const CheckResult result =
      machine.Run("gpu.peer_bandwidth", {{"patience", "0.05"}, {"repeats", "600"}, {"mib", "32"}});
  EXPECT_EQ(ValueOf(result, "hung", "gpu:0-gpu:1"), "false") << result.message();
  EXPECT_EQ(Pairs(result), 2);
}

TEST(PeerBandwidth, AnErrorEndsOnePairAndNotTheOthers) {
  // The copies of GPU 1's context: the second pair that it sends to fails at once.
  FakeGpuMachine machine("gpus 3\nerror cuMemcpyPeerAsync 719 1 0\n", 3);
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:1-gpu:0"), "719");
  EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:1-gpu:2"), "719");
  EXPECT_EQ(Pairs(result), 4);
}

TEST(PeerBandwidth, AContextHasRoomForAllPeersOneAfterTheOther) {
  FakeGpuMachine machine("gpus 10\n", 10);
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::PASS) << result.message();
  EXPECT_EQ(Pairs(result), 90);
  EXPECT_EQ(ValueOf(result, "access", "gpu:0-gpu:9"), "true");
}

TEST(PeerBandwidth, ThatAnotherProcessHasAGpuIsNoFaultOfAPair) {
  for (const char* code : {"2", "46"}) {
    FakeGpuMachine machine(absl::StrCat("error cuMemcpyPeerAsync ", code, " 1 0\n"));
    const CheckResult result = machine.Run("gpu.peer_bandwidth");
    EXPECT_NE(result.status(), CheckResult::FAIL) << result.message();
    EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:1-gpu:0"), "unknown");
    EXPECT_EQ(ValueOf(result, "cuda_error", "gpu:0-gpu:1"), "0");
    EXPECT_THAT(result.message(), HasSubstr(absl::StrCat("(", code, ")")));
  }
}

TEST(PeerBandwidth, WithoutPeerAccessCopiesGoThroughTheHost) {
  FakeGpuMachine machine("name NVIDIA L40S\npair 0 1 noaccess\npair 1 0 noaccess\n");
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "access", "gpu:0-gpu:1"), "false");
  EXPECT_NEAR(std::stod(ValueOf(result, "gb_s", "gpu:0-gpu:1")), 28, 0.1);
}

TEST(PeerBandwidth, OneIdleGpuIsNoPair) {
  FakeGpuMachine machine("");
  machine.Occupy(0);
  const CheckResult result = machine.Run("gpu.peer_bandwidth");
  EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(result.message(), HasSubstr("needs two GPUs"));
}

}  // namespace
}  // namespace galen::node
