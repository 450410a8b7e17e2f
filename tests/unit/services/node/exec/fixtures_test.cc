// Real outputs of the programs that knowledge/checks/exec.yaml declares, read in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "exec_testing.h"

namespace galen::node {
namespace {

using galen::v1::CheckResult;

struct Row {
  std::string path;
  std::string check;
  CheckResult::Status status;
  // Finding, or "finding device": its value.
  std::map<std::string, std::string> values;
};

const std::vector<Row>& Rows() {
  static const auto* const rows = new std::vector<Row>{
      {"dcgmi/gcm-diag_pass.json",
       "gpu.dcgm_diag",
       CheckResult::PASS,
       {{"passed", "true"}, {"failed_tests", "none"}, {"warned_tests", "none"}}},
      {"dcgmi/gcm-diag_fail.json",
       "gpu.dcgm_diag",
       CheckResult::FAIL,
       {{"passed", "false"},
        {"failed_tests", "Persistence Mode"},
        {"warned_tests", "Environment Variables"}}},
      {"dcgmi/gcm-diag_warn.json", "gpu.dcgm_diag", CheckResult::FAIL, {{"passed", "true"}}},
      {"dcgmi/gcm-nvlink_error_pass.json",
       "gpu.dcgm_nvlink_errors",
       CheckResult::PASS,
       {{"crc_data_errors gpu:0/link:0", "0"}}},
      {"dcgmi/gcm-nvlink_error_fail.json",
       "gpu.dcgm_nvlink_errors",
       CheckResult::FAIL,
       {{"crc_data_errors gpu:0/link:0", "12"}, {"crc_data_errors gpu:0/link:1", "0"}}},
      {"nccl-tests/a100-8gpu-allreduce.log",
       "nccl.allreduce",
       CheckResult::PASS,
       {{"floor_gb_s", "228"}, {"ranks", "8"}, {"nodes", "1"}, {"wrong_values", "0"}}},
      {"nccl-tests/a100-8gpu-allgather.log",
       "nccl.allgather",
       CheckResult::PASS,
       {{"busbw_gb_s", "230.07"}, {"avg_busbw_gb_s", "58.2651"}}},
      {"nccl-tests/a100-8gpu-alltoall.log", "nccl.alltoall", CheckResult::PASS, {{"ranks", "8"}}},
      {"nccl-tests/a100-8gpu-broadcast.log",
       "nccl.broadcast",
       CheckResult::PASS,
       {{"busbw_gb_s", "234.7"}}},
      {"nccl-tests/a100-8gpu-reducescatter.log",
       "nccl.reducescatter",
       CheckResult::PASS,
       {{"busbw_gb_s", "231.52"}}},
      {"nccl-tests/aws-batch-2node-allreduce-tagged.txt",
       "nccl.allreduce",
       CheckResult::PASS,
       {{"busbw_gb_s", "483.35"}, {"avg_busbw_gb_s", "156.742"}, {"wrong_values", "0"}}},
      {"nccl-tests/b200-2node-16gpu-allgather.txt",
       "nccl.allgather",
       CheckResult::PASS,
       {{"ranks", "16"}, {"nodes", "2"}, {"rails_cross", "false"}}},
      {"nccl-tests/b200-4worker-unaligned-allgather-truncated.txt",
       "nccl.allgather",
       CheckResult::FAIL,
       {{"avg_busbw_gb_s", "22.2173"}, {"busbw_gb_s", "unknown"}, {"rails_cross", "true"}}},
      {"nccl-tests/b200-4worker-worse-allgather-truncated.txt",
       "nccl.allgather",
       CheckResult::FAIL,
       {{"rails_cross", "true"}}},
      {"nccl-tests/h200-gke-allgather.txt",
       "nccl.allgather",
       CheckResult::PASS,
       {{"busbw_gb_s", "33.32"}, {"ranks", "2"}, {"nodes", "2"}}},
      {"nccl-tests/p5-2node-allreduce.txt",
       "nccl.allreduce",
       CheckResult::PASS,
       {{"busbw_gb_s", "487.26"}, {"message_bytes", "17179869184"}}},
      {"gpu-bench/gh200-v0.6.log",
       "exec.nvbandwidth",
       CheckResult::PASS,
       {{"h2d_gb_s gpu:0", "369.36"},
        {"h2d_gb_s gpu:2", "412.11"},
        {"d2h_gb_s gpu:0", "295.15"},
        {"latency_ns gpu:0", "772.58"}}},
      {"gpu-bench/a100-80g-8gpu.log",
       "exec.gpu_burn",
       CheckResult::PASS,
       {{"ok gpu:7", "true"}, {"errors gpu:0", "0"}}},
      {"gpu-bench/cuda-bandwidthtest-v100-d2h.log",
       "exec.cuda_bandwidth_test",
       CheckResult::PASS,
       {{"d2h_gb_s gpu:0", "13.1"}, {"passed gpu:0", "true"}}},
      {"gpu-bench/cuda-bandwidthtest-v100-h2d.log",
       "exec.cuda_bandwidth_test",
       CheckResult::PASS,
       {{"h2d_gb_s gpu:0", "12.4"}, {"passed gpu:0", "true"}}},
      {"gpu-bench/superbench-gpu-stream.log",
       "exec.superbench_gpu_stream",
       CheckResult::PASS,
       {{"triad_gb_s gpu:0", "7414.01"},
        {"triad_peak_pct gpu:1", "90.5"},
        {"ecc_on gpu:0", "true"}}},
      {"gpu-bench/rocm-bandwidth-test-A.txt",
       "exec.rocm_bandwidth_test",
       CheckResult::PASS,
       {{"peak_gb_s device:2/peer:3", "101.458"}, {"peak_gb_s device:9/peer:8", "100.908"}}},
      {"gpu-bench/rocm-bandwidth-test-s0-d4.txt",
       "exec.rocm_bandwidth_test",
       CheckResult::PASS,
       {{"peak_gb_s cpu:0/peer:gpu:4", "28.675"}}},
      {"gpu-bench/rocm-hipbusbw-d2h.log", "exec.hip_bus_bandwidth", CheckResult::PASS, {}},
      {"gpu-bench/rocm-hipbusbw-h2d.log", "exec.hip_bus_bandwidth", CheckResult::PASS, {}},
      {"nhc/azure-nhc-check-fs-used.log",
       "exec.aznhc",
       CheckResult::FAIL,
       {{"failed_checks", "check_fs_used"}}},
      {"nhc/azure-distributed-nhc-debug-bandwidth.txt",
       "exec.aznhc",
       CheckResult::PASS,
       {{"failed_checks", "none"},
        {"h2d_gb_s gpu:7", "55"},
        {"ib_gbps nic:mlx5_ib7", "390.98"},
        {"allreduce_gb_s", "477.873"},
        {"allreduce_ib_loopback_gb_s", "46.3965"}}},
      {"perftest/ib_write_bw-gpudirect-dmabuf-h200.txt",
       "exec.ib_write_bw",
       CheckResult::PASS,
       {{"bandwidth_gbps nic:mlx5_3", "140.4"}, {"mtu nic:mlx5_3", "4096"}}},
      {"perftest/ib_write_bw-loopback-8M.log",
       "exec.ib_write_bw",
       CheckResult::PASS,
       {{"message_bytes nic:ib0", "8388608"}}},
      {"perftest/ib_write_bw-loopback-all-sizes.log",
       "exec.ib_write_bw",
       CheckResult::PASS,
       {{"message_bytes nic:ib0", "8388608"}}},
      {"gpcnet/network_test.log",
       "exec.gpcnet",
       CheckResult::PASS,
       {{"latency_us test:RR Two-sided Lat (8 B)", "10000"}, {"error", "none"}}},
      {"gpcnet/network_load_error.log",
       "exec.gpcnet",
       CheckResult::FAIL,
       {{"error", "this application must be run on at least 10 nodes"}}},
      {"cpu-bench/stream-zen.log",
       "exec.stream",
       CheckResult::PASS,
       {{"triad_gb_s", "363.209"}, {"validates", "true"}}},
      {"cpu-bench/stream-neo.log",
       "exec.stream",
       CheckResult::PASS,
       {{"copy_gb_s", "108.18"}, {"validates", "true"}}},
      {"cpu-bench/fio-disk-performance.json",
       "exec.fio_read",
       CheckResult::PASS,
       {{"error job:rand_read_write", "0"}}},
  };
  return *rows;
}

TEST(ExecFixtures, CapturedOutputsAreReadAndJudged) {
  if (!HaveFixtures()) GTEST_SKIP() << "../shared/fixtures is not here";
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.path);
    const std::string text = Fixture(row.path);
    ASSERT_FALSE(text.empty());
    const CheckResult result = ResultOf(row.check, text);
    EXPECT_EQ(CheckResult::Status_Name(result.status()), CheckResult::Status_Name(row.status))
        << result.message();
    for (const auto& [key, value] : row.values) {
      const std::size_t blank = key.find(' ');
      const std::string device = blank == std::string::npos ? "" : key.substr(blank + 1);
      EXPECT_EQ(ValueOf(result, key.substr(0, blank), device), value) << key;
    }
  }
}

// A parser answers for any part of an output, with any corrupt bytes.
TEST(ExecFixtures, CutAndBrokenOutputsAreNeverTaken) {
  if (!HaveFixtures()) GTEST_SKIP() << "../shared/fixtures is not here";
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.path);
    const std::string text = Fixture(row.path);
    for (std::size_t cut = 0; cut < text.size(); cut += text.size() / 23 + 1) {
      const CheckResult result = ResultOf(row.check, text.substr(0, cut));
      EXPECT_NE(result.status(), CheckResult::STATUS_UNSPECIFIED);
      std::string broken = text;
      broken[cut] = '\xff';
      EXPECT_NE(ResultOf(row.check, broken).status(), CheckResult::STATUS_UNSPECIFIED);
    }
  }
}

TEST(ExecKnowledge, EveryExecCheckNamesAParserAndKeepsItsTime) {
  int checks = 0;
  for (const knowledge::v1::Check& check : Shipped().base().checks()) {
    if (check.kind() != knowledge::v1::Check::EXEC) continue;
    ++checks;
    EXPECT_NE(FindOutputParser(check.exec().output()), nullptr) << check.name();
    EXPECT_GT(check.exec().process_limit(), 0) << check.name();
    if (check.has_time_limit()) {
      EXPECT_GT(check.time_limit().seconds(), check.exec().time_limit().seconds()) << check.name();
    }
    // Text that no choice bounds goes into one argument, and never into the program's name.
    EXPECT_EQ(check.exec().argv(0).find('{'), std::string::npos) << check.name();
  }
  EXPECT_GE(checks, 20);
}

}  // namespace
}  // namespace galen::node
