#include "services/node/exec/parsers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exec_testing.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;
using ::testing::HasSubstr;

TEST(DcgmDiag, TellsTheGpusOfVersion4Apart) {
  const CheckResult result = ResultOf("gpu.dcgm_diag", R"(Successfully ran diagnostic for group.
{"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
  {"name": "memory", "results": [
    {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 0, "status": "Pass"},
    {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 1, "status": "Fail",
     "warnings": [{"warning": "Memory corruption.", "error_id": 44}]}],
   "test_summary": {"status": "Fail"}}]}]}})",
                                      226);
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "passed", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(result, "passed", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(result, "failed_tests", "gpu:1"), "memory");
  EXPECT_THAT(result.message(), HasSubstr("Memory corruption."));
}

TEST(DcgmDiag, TestsThatWereAllSkippedProveNothing) {
  const CheckResult result = ResultOf("gpu.dcgm_diag", R"({"DCGM GPU Diagnostic":
    {"test_categories": [{"category": "Hardware", "tests": [
      {"name": "GPU Memory", "results": [{"gpu_id": "0", "status": "Skip"}]}]}]}})");
  EXPECT_EQ(ValueOf(result, "passed", "gpu:0"), "unknown");
}

TEST(DcgmDiag, WithoutAHostEngineItIsSkipped) {
  const CheckResult result =
      ResultOf("gpu.dcgm_diag",
               "Error: unable to establish a connection to the specified host: localhost\n", 1);
  EXPECT_EQ(result.status(), CheckResult::SKIPPED);
  EXPECT_THAT(result.message(), HasSubstr("nvidia-dcgm"));
}

TEST(DcgmDiag, AnotherTextIsAnError) {
  const CheckResult result = ResultOf("gpu.dcgm_diag", "Segmentation fault\n");
  EXPECT_EQ(result.status(), CheckResult::ERROR);
  EXPECT_THAT(result.message(), HasSubstr("begins \"Segmentation fault\""));
}

constexpr char kRanks[] =
    "# nThread 1 nGpus 8 minBytes 8388608 maxBytes 8589934592\n"
    "#   Rank  0 Pid 1 on n1 device  0 [0x07] NVIDIA H100 80GB HBM3\n"
    "#   Rank  1 Pid 1 on n1 device  1 [0x0f] NVIDIA H100 80GB HBM3\n"
    "#   Rank  2 Pid 1 on n1 device  2 [0x47] NVIDIA H100 80GB HBM3\n"
    "#   Rank  3 Pid 1 on n1 device  3 [0x4e] NVIDIA H100 80GB HBM3\n"
    "#   Rank  4 Pid 1 on n1 device  4 [0x87] NVIDIA H100 80GB HBM3\n"
    "#   Rank  5 Pid 1 on n1 device  5 [0x90] NVIDIA H100 80GB HBM3\n"
    "#   Rank  6 Pid 1 on n1 device  6 [0xb7] NVIDIA H100 80GB HBM3\n"
    "#   Rank  7 Pid 1 on n1 device  7 [0xbd] NVIDIA H100 80GB HBM3\n";

TEST(NcclTests, ARateBelowTheFloorOfTheModelFails) {
  const CheckResult result =
      ResultOf("nccl.allreduce",
               std::string(kRanks) +
                   "8589934592 2147483648 float sum -1 40000 214.0 374.5 0 40000 214.1 374.6 0\n");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "busbw_gb_s"), "374.6");
  EXPECT_EQ(ValueOf(result, "floor_gb_s"), "460");
}

TEST(NcclTests, SmallMessagesAreNotHeldAgainstTheFloor) {
  const CheckResult result =
      ResultOf("nccl.allreduce",
               std::string(kRanks) + "8388608 2097152 float sum -1 124 67 118 0 124 67 118 0\n");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "floor_gb_s"), "(none)");
}

TEST(NcclTests, WrongValuesFail) {
  const CheckResult result = ResultOf("nccl.allreduce",
                                      "8388608 2097152 float sum -1 124 67 118 3 124 67 118 0\n"
                                      "# Out of bounds values : 3 FAILED\n");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_NE(ValueOf(result, "wrong_values"), "0");
}

TEST(NcclTests, WhatWasNotComparedIsNotRight) {
  const CheckResult result =
      ResultOf("nccl.allreduce", "8388608 2097152 float sum -1 124 67 118 N/A 124 67 118 N/A\n");
  EXPECT_EQ(ValueOf(result, "wrong_values"), "unknown");
}

TEST(Nvbandwidth, RatesBelowTheFloorOfTheModelFail) {
  const std::string text =
      "Device 0: NVIDIA H100 80GB HBM3 (00000000:07:00)\n"
      "Device 1: NVIDIA H100 80GB HBM3 (00000000:0f:00)\n\n"
      "Running host_to_device_memcpy_ce.\n"
      "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0     55.32     26.10\n\nSUM host_to_device_memcpy_ce 81.42\n\n"
      "Running device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    390.10\n 1    389.90       N/A\n\n";
  const CheckResult result = ResultOf("exec.nvbandwidth", text);
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  for (const galen::v1::Finding& finding : result.findings()) {
    EXPECT_EQ(finding.abnormal(),
              finding.name() == "h2d_gb_s" && finding.subject().device() == "gpu:1")
        << finding.DebugString();
  }
  EXPECT_EQ(ValueOf(result, "d2d_gb_s", "gpu:1/peer:0"), "389.9");
  EXPECT_EQ(ValueOf(result, "h2d_floor_gb_s"), "48");
}

TEST(GpuBurn, AFaultyGpuFails) {
  const CheckResult result =
      ResultOf("exec.gpu_burn",
               "100.0%  proc'd: 10 (900 Gflop/s) - 10 (910 Gflop/s)   errors: 0 - 25  (WARNING!)  "
               " temps: 40 C - 41 C \nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n",
               1);
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "ok", "gpu:0"), "true");
  EXPECT_EQ(ValueOf(result, "ok", "gpu:1"), "false");
  EXPECT_EQ(ValueOf(result, "errors", "gpu:1"), "25");
  EXPECT_EQ(ValueOf(result, "gflop_s", "gpu:1"), "910");
  EXPECT_EQ(ValueOf(result, "temperature_c", "gpu:1"), "41");
}

TEST(Perftest, MegabytesAreBinary) {
  const CheckResult result =
      ResultOf("exec.ib_write_bw",
               "Dual-port : OFF Device         : mlx5_0\n"
               " #bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
               " 65536  5000        1000.00         1000.00            0.016\n");
  // 1000 * 2^20 bytes a second.
  EXPECT_EQ(ValueOf(result, "bandwidth_gbps", "nic:mlx5_0"), "8.38861");
}

TEST(Nhc, SilenceIsHealthOnlyWithExitCodeZero) {
  EXPECT_EQ(ResultOf("exec.nhc", "").status(), CheckResult::PASS);
  EXPECT_EQ(ResultOf("exec.nhc", "", 1, "nhc: cannot read /etc/nhc/nhc.conf\n").status(),
            CheckResult::ERROR);
}

TEST(Nhc, ARateBelowTheOneItExpectsFails) {
  const CheckResult result = ResultOf(
      "exec.aznhc", "n | Measured Avg NCCL allreduce bus BW 300.1 GB/s (expected >=460.0 GB/s)\n");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
}

TEST(Stream, WrongResultsFail) {
  const CheckResult result = ResultOf("exec.stream",
                                      "Triad:  1000.0  0.1  0.1  0.1\n"
                                      "Failed Validation on array a[], AvgRelAbsErr > epsilon\n");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "triad_gb_s"), "1");
}

}  // namespace
}  // namespace galen::node
