#include "services/node/exec/parsers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

TEST(NcclTests, TheFloorOfAnAllReduceIsNotHeldAgainstOtherReductions) {
  const CheckResult scattered =
      ResultOf("nccl.reducescatter",
               std::string(kRanks) +
                   "8589934592 268435456 float sum -1 21000 409.0 357.9 0 21000 409.1 358.0 0\n");
  EXPECT_EQ(scattered.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(scattered, "busbw_gb_s"), "358");
  EXPECT_EQ(ValueOf(scattered, "floor_gb_s"), "(none)");
  // reduce_perf: a root.
  const CheckResult reduced = ResultOf(
      "nccl.allreduce",
      std::string(kRanks) + "8589934592 2147483648 float sum 0 40000 214.0 374.5 0 1 1 1 0\n");
  EXPECT_EQ(ValueOf(reduced, "floor_gb_s"), "(none)");
}

TEST(NcclTests, AnotherTypeOrOperationIsAnAllReduceToo) {
  for (const char* const row :
       {"8589934592 4294967296 bfloat16 sum", "8589934592 8589934592 int8 max",
        "8589934592 4294967296 half avg"}) {
    const CheckResult result =
        ResultOf("nccl.allreduce",
                 absl::StrCat(kRanks, row, " -1 40000 214.0 374.5 0 40000 214.1 374.6 0\n"));
    EXPECT_EQ(ValueOf(result, "floor_gb_s"), "460") << row;
  }
}

// The lines of two nodes with two ranks each; `second` lies in these places on the second one.
std::string TwoNodes(const std::string& first, const std::string& second) {
  return absl::StrCat("# Rank  0 Group  0 Pid 1 on a device  0 [0000:8f:00] NVIDIA B200\n",
                      "# Rank  1 Group  0 Pid 2 on a device  1 [0000:90:00] NVIDIA B200\n",
                      "# Rank  2 Group  0 Pid 1 on b device  0 [", first, "] NVIDIA B200\n",
                      "# Rank  3 Group  0 Pid 2 on b device  1 [", second, "] NVIDIA B200\n",
                      "# Avg bus bandwidth    : 300\n");
}

TEST(NcclTests, RailsCrossWhereOneAddressHasAnotherNumberOnAnotherNode) {
  const auto cross = [](const std::string& text) {
    return ValueOf(ResultOf("nccl.allgather", text), "rails_cross");
  };
  EXPECT_EQ(cross(TwoNodes("0000:8f:00", "0000:90:00")), "false");
  EXPECT_EQ(cross(TwoNodes("0000:90:00", "0000:8f:00")), "true");
  EXPECT_EQ(cross(TwoNodes("0000:8f:00", "0000:cb:00")), "false");
  EXPECT_EQ(cross(TwoNodes("0000:cb:00", "0000:8f:00")), "true");
}

TEST(NcclTests, OtherAddressesOfAnotherMachineSayNothingOfRails) {
  EXPECT_EQ(
      ValueOf(ResultOf("nccl.allgather", TwoNodes("0001:00:00", "0002:00:00")), "rails_cross"),
      "(none)");
  // A virtual machine may give all its GPUs the same one.
  std::string same = TwoNodes("0000:00:00", "0000:00:00");
  absl::StrReplaceAll({{"0000:8f:00", "0000:00:00"}, {"0000:90:00", "0000:00:00"}}, &same);
  EXPECT_EQ(ValueOf(ResultOf("nccl.allgather", same), "rails_cross"), "(none)");
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
  // The person who ran it may have disabled the comparison.
  EXPECT_EQ(ValueOf(result, "data_wrong"), "unknown");
}

TEST(Nvbandwidth, AModelThatNobodyKnowsIsHeldAgainstItsPeers) {
  const CheckResult result = ResultOf(
      "exec.nvbandwidth",
      "Device 0: NVIDIA Unheard Of (00000000:01:00)\nDevice 1: NVIDIA Unheard Of "
      "(00000000:c1:00)\n\n"
      "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0     57.31      7.04\n\nSUM host_to_device_memcpy_ce 64.35\n\n");
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  for (const galen::v1::Finding& finding : result.findings()) {
    EXPECT_EQ(finding.abnormal(),
              finding.name() == "h2d_gb_s" && finding.subject().device() == "gpu:1")
        << finding.DebugString();
  }
}

TEST(Nvbandwidth, DataThatArriveWrongAreAFindingAndAnotherEndIsNot) {
  // As it prints them where two GPUs of one guest lie in two partitions of the NVSwitches.
  const CheckResult wrong = ResultOf("exec.nvbandwidth",
                                     "Running device_to_device_memcpy_read_ce.\n"
                                     " Invalid value when checking the pattern at 0x735f80000000\n"
                                     " Current offset : 200064 \n"
                                     "ASSERT in expression h_errorFlag == 0\n",
                                     1);
  EXPECT_EQ(wrong.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(wrong, "data_wrong"), "true");
  EXPECT_THAT(wrong.message(), HasSubstr("wrong data in device_to_device_memcpy_read_ce"));
  const CheckResult other =
      ResultOf("exec.nvbandwidth", "Running host_to_device_memcpy_ce.\nCUDA_ERROR_UNKNOWN\n", 1);
  EXPECT_EQ(other.status(), CheckResult::ERROR);
  EXPECT_THAT(other.message(), HasSubstr("CUDA_ERROR_UNKNOWN"));
}

constexpr char kBandwidthTest[] =
    "[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n"
    " Device 0: NVIDIA A100-SXM4-80GB\n Quick Mode\n\n";

TEST(CudaBandwidthTest, AllThreeDirectionsAreRead) {
  const CheckResult result =
      ResultOf("exec.cuda_bandwidth_test",
               absl::StrCat(kBandwidthTest,
                            "bandwidthTest-H2D-Pinned, Bandwidth = 24.1 GB/s, Time = 0.0013 s, "
                            "Size = 32000000 bytes, NumDevsUsed = 1\n"
                            "bandwidthTest-D2H-Pinned, Bandwidth = 24.5 GB/s, Time = 0.0013 s, "
                            "Size = 32000000 bytes, NumDevsUsed = 1\n"
                            "bandwidthTest-D2D, Bandwidth = 1157.5 GB/s, Time = 0.0000 s, "
                            "Size = 32000000 bytes, NumDevsUsed = 1\nResult = PASS\n"));
  EXPECT_EQ(result.status(), CheckResult::PASS) << result.message();
  EXPECT_EQ(ValueOf(result, "h2d_gb_s", "gpu:0"), "24.1");
  EXPECT_EQ(ValueOf(result, "d2d_gb_s", "gpu:0"), "1157.5");
  EXPECT_EQ(ValueOf(result, "h2d_floor_gb_s"), "21");
}

TEST(CudaBandwidthTest, ASlowCardFailsInTheTableForPeopleToo) {
  const CheckResult result =
      ResultOf("exec.cuda_bandwidth_test",
               absl::StrCat(kBandwidthTest,
                            " Host to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
                            "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t12.3\n\n"
                            " Device to Host Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
                            "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t24.6\n\n"
                            " Device to Device Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n"
                            "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t1157.5\n\n"
                            "Result = PASS\n"));
  EXPECT_EQ(result.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(result, "h2d_gb_s", "gpu:0"), "12.3");
  EXPECT_EQ(ValueOf(result, "d2h_gb_s", "gpu:0"), "24.6");
  EXPECT_EQ(ValueOf(result, "d2d_gb_s", "gpu:0"), "1157.5");
}

TEST(CudaBandwidthTest, PageableMemoryIsSlowByRight) {
  const CheckResult result =
      ResultOf("exec.cuda_bandwidth_test",
               absl::StrCat(kBandwidthTest,
                            " Host to Device Bandwidth, 1 Device(s)\n PAGEABLE Memory Transfers\n"
                            "   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t8.3\n\n"
                            "bandwidthTest-D2H-Paged, Bandwidth = 7.5 GB/s, Time = 0.0013 s, "
                            "Size = 32000000 bytes, NumDevsUsed = 1\nResult = PASS\n"));
  EXPECT_EQ(ValueOf(result, "h2d_gb_s", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(result, "d2h_gb_s", "gpu:0"), "(none)");
}

TEST(CudaBandwidthTest, ARunWithoutRatesHasNotPassed) {
  const CheckResult result =
      ResultOf("exec.cuda_bandwidth_test", absl::StrCat(kBandwidthTest, "Result = PASS\n"));
  EXPECT_EQ(ValueOf(result, "passed", "gpu:0"), "unknown");
  EXPECT_EQ(ResultOf("exec.cuda_bandwidth_test", absl::StrCat(kBandwidthTest, "Result = FAIL\n"))
                .status(),
            CheckResult::FAIL);
}

TEST(CudaBandwidthTest, TheSumOfSeveralGpusIsTheRateOfNone) {
  const CheckResult result =
      ResultOf("exec.cuda_bandwidth_test",
               absl::StrCat(" Device 0: NVIDIA A100-SXM4-40GB\n Device 1: NVIDIA A100-SXM4-40GB\n",
                            "bandwidthTest-H2D-Pinned, Bandwidth = 24.1 GB/s, Time = 0.0013 s, "
                            "Size = 32000000 bytes, NumDevsUsed = 2\nResult = PASS\n"));
  EXPECT_EQ(ValueOf(result, "h2d_gb_s", "gpu:1"), "(none)");
}

TEST(HipBusBandwidth, ItDoesNotSayWhichGpuItUsed) {
  const CheckResult result = ResultOf(
      "exec.hip_bus_bandwidth",
      "Device:Device 738c Mem=32.0GB #CUs=120 Freq=1502Mhz  MallocMode=pinned\n"
      "   D2H_Bandwidth_pinned       512kB       GB/sec        12.7930 12.7 0.1 12.0 13.0\n");
  EXPECT_EQ(ValueOf(result, "d2h_gb_s", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(result, "d2h_gb_s"), "12.793");
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

TEST(GpuBurn, ErrorsOfOneGpuDoNotMoveTheValuesOfTheNext) {
  const CheckResult result = ResultOf(
      "exec.gpu_burn",
      "100.0%  proc'd: 10 (900 Gflop/s) - 12 (910 Gflop/s)   errors: 25  (WARNING!)- 0   "
      "temps: 40 C - 41 C   power: 300 W - 310 W \nTested 2 GPUs:\n\tGPU 0: FAULTY\n\tGPU 1: OK\n",
      1);
  EXPECT_EQ(ValueOf(result, "errors", "gpu:0"), "25");
  EXPECT_EQ(ValueOf(result, "errors", "gpu:1"), "0");
  EXPECT_EQ(ValueOf(result, "temperature_c", "gpu:0"), "40");
  EXPECT_EQ(ValueOf(result, "temperature_c", "gpu:1"), "41");
  EXPECT_EQ(ValueOf(result, "gflop_s", "gpu:1"), "910");
}

TEST(GpuBurn, ATemperatureThatIsNotToldIsNone) {
  const CheckResult result = ResultOf(
      "exec.gpu_burn",
      "100.0%  proc'd: -1 (0 Gflop/s) - 12 (910 Gflop/s)   errors: 0  (DIED!)- 3  (WARNING!)  "
      "temps: -- - 41 C \nTested 2 GPUs:\n\tGPU 0: OK\n\tGPU 1: FAULTY\n",
      1);
  EXPECT_EQ(ValueOf(result, "errors", "gpu:1"), "3");
  EXPECT_EQ(ValueOf(result, "temperature_c", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(result, "temperature_c", "gpu:1"), "41");
}

TEST(GpuBurn, AListThatIsTruncatedTellsOfNoGpu) {
  const CheckResult result =
      ResultOf("exec.gpu_burn",
               "50.0%  proc'd: 10 (900 Gflop/s) - 12 (910 Gflop/s)   errors: 25 - 3  temps: 40 C \n"
               "Tested 3 GPUs:\n\tGPU 0: FAULTY\n\tGPU 1: OK\n\tGPU 2: OK\n",
               1);
  EXPECT_EQ(ValueOf(result, "errors", "gpu:0"), "unknown");
  EXPECT_EQ(ValueOf(result, "temperature_c", "gpu:0"), "(none)");
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

TEST(Nhc, WhereNoCheckRanNothingIsKnown) {
  for (const char* const text :
       {"", "Missing/invalid configuration file (\"/etc/nhc/nhc.conf\") ignored.\n",
        "Node Health Check starting.\n"
        "Node Health Check completed successfully; 0 passed in 0 second(s).\n"}) {
    EXPECT_EQ(ValueOf(ResultOf("exec.nhc", text), "failed_checks"), "unknown") << text;
  }
  EXPECT_EQ(ResultOf("exec.nhc", "", 1, "nhc: cannot read /etc/nhc/nhc.conf\n").status(),
            CheckResult::ERROR);
}

TEST(Nhc, ChecksThatRanAndDidNotFailPass) {
  for (const char* const text :
       {"Node Health Check starting.\nRunning check 1 of 1:  \"check_fs_used / 90%\"\n"
        "Node Health Check completed successfully (0s).\n",
        "Node Health Check completed successfully; 12 passed in 1 second(s).\n"}) {
    const CheckResult result = ResultOf("exec.nhc", text);
    EXPECT_EQ(result.status(), CheckResult::PASS);
    EXPECT_EQ(ValueOf(result, "failed_checks"), "none") << text;
  }
}

TEST(Nhc, AFailureIsNamedAlsoWhereTheCheckIsNot) {
  const CheckResult result =
      ResultOf("exec.nhc",
               "Running check 1 of 2:  \"check_fs_used / 90%\"\n"
               "Health check failed:  check_fs_used:  / is 95% full\n"
               "Running check 2 of 2:  \"check_site\"\n"
               "Health check failed:  No such check \"check_site\" (missing/corrupt .nhc file?)\n"
               "ERROR:  nhc:  2 health checks failed.\n",
               2);
  EXPECT_EQ(ValueOf(result, "failed_checks"), "check_fs_used, nhc");
  EXPECT_THAT(result.message(), HasSubstr("No such check"));
}

TEST(Nhc, TheTotalIsNoCheckAndAPipeNoNode) {
  const CheckResult result =
      ResultOf("exec.nhc",
               "Health check failed:  check_cmd_output:  'ps | grep x' returned 1\n"
               "ERROR:  nhc:  1 health checks failed.\n",
               1);
  EXPECT_EQ(ValueOf(result, "failed_checks"), "check_cmd_output");
}

TEST(Nhc, OfARunOnSeveralNodesOnlyThisOneCounts) {
  const std::string others =
      "n2 | ERROR:  nhc:  Health check failed:  check_fs_used:  / is 95% full\n"
      "n2 | Device 0 Host to Device reported bandwidth is 5 GB/s\n";
  const CheckResult result =
      ResultOf("exec.aznhc", others +
                                 "N1.cluster | Running check 1 of 1:  \"check_x\"\n"
                                 "N1.cluster | Device 1 Host to Device reported bandwidth is "
                                 "55 GB/s\n");
  EXPECT_EQ(result.status(), CheckResult::PASS);
  EXPECT_EQ(ValueOf(result, "failed_checks"), "none");
  EXPECT_EQ(ValueOf(result, "h2d_gb_s", "gpu:0"), "(none)");
  EXPECT_EQ(ValueOf(result, "h2d_gb_s", "gpu:1"), "55");
  const CheckResult unknown =
      ResultOf("exec.aznhc", others + "n3 | Running check 1 of 1:  \"check_x\"\n");
  EXPECT_EQ(unknown.status(), CheckResult::SKIPPED);
  EXPECT_THAT(unknown.message(), HasSubstr("reports only other nodes: n2, n3"));
}

TEST(Nhc, ANodeMayCallItselfOtherwiseThanWeDo) {
  const CheckResult result =
      ResultOf("exec.aznhc",
               "NOTE | this says nothing\n"
               "node05 | ERROR:  nhc:  Health check failed:  check_fs_used:  / is 95% full\n");
  EXPECT_EQ(ValueOf(result, "failed_checks"), "check_fs_used");
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

TEST(Fio, WhatItDoesNotSayIsUnknownAndNotZero) {
  const CheckResult result =
      ResultOf("exec.fio_read",
               R"({"jobs": [{"jobname": "a", "read": {"total_ios": 5, "iops": 10.5,
          "lat_ns": {"percentile": {"50.000000": 900}}}}]})");
  EXPECT_EQ(ValueOf(result, "error", "job:a"), "unknown");
  EXPECT_EQ(ValueOf(result, "read_iops", "job:a"), "10.5");
  EXPECT_EQ(ValueOf(result, "read_gb_s", "job:a"), "unknown");
  EXPECT_EQ(ValueOf(result, "read_p99_ms", "job:a"), "unknown");
}

TEST(Fio, ADeviceThatCannotBeReadFailsAndAWrongQuestionIsAnError) {
  const auto ends = [](int error, const char* err) {
    return ResultOf("exec.fio_read",
                    absl::StrCat(R"({"jobs": [{"jobname": "galen", "error": )", error,
                                 R"(, "read": {"total_ios": 0}}]})"),
                    1, err);
  };
  const CheckResult broken =
      ends(5, "fio: pid=7, err=5/file:io_u.c:1803, error=Input/output error");
  EXPECT_EQ(broken.status(), CheckResult::FAIL);
  EXPECT_EQ(ValueOf(broken, "error", "job:galen"), "5");
  const CheckResult absent =
      ends(22, "fio: pid=0, err=22/file:filesetup.c:1155, error=Invalid argument");
  EXPECT_EQ(absent.status(), CheckResult::ERROR);
  EXPECT_THAT(absent.message(), HasSubstr("no error of a device: fio: pid=0, err=22"));
}

}  // namespace
}  // namespace galen::node
