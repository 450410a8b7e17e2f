// Compares the triage of every training log in ../shared/fixtures with the log's own words: a
// person read the status, the failure and the last step in the logs, in addition to MANIFEST.tsv.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace {

namespace fs = std::filesystem;

const fs::path& Logs() {
  static const fs::path logs = fs::path(GALEN_SOURCE_DIR) / "../shared/fixtures/training-log";
  return logs;
}

struct Expected {
  const char* status;
  const char* primary;      // "" for none
  std::int64_t last_step;   // -1: the log has none
  std::int64_t total;       // -1: it does not say
  double sum_seconds = -1;  // of all steps, added up by hand; -1: it has no times of steps
};

// The times of steps add up as awk does over the lines.
const std::map<std::string, Expected>& Table() {
  static const auto* const table = new std::map<std::string, Expected>{
      // The trainer prints its run time; 64 ranks print no step.
      {"hf-deepspeed-gpt2-n16.out", {"completed", "", -1, -1}},
      {"hf-deepspeed-gpt2-n4.out", {"completed", "", 16, 16, 919}},
      {"jax-192gpu-coordination-heartbeat-unavailable.log",
       {"failed", "heartbeat_timeout", -1, -1}},
      {"maxtext-tpu-memstats.log", {"unknown", "", -1, -1}},
      {"megatron-deepspeed-2node-16gpu.log", {"completed", "", 5, 5, 376.1962}},
      // These two stop after a step, without a message.
      {"megatron-ds-3d-n16-dsoff.out", {"unknown", "", 62, 1000, 7866.8488}},
      {"megatron-ds-3d-n16-dson.out", {"unknown", "", 49, 1000, 6710.3941}},
      {"megatron-ds-zero-n16-time-limit.out", {"cancelled", "time_limit", 4, 1000, 509.0681}},
      // Twenty means of ten steps.
      {"megatron-gpt2-n4-v100-cancelled.out", {"cancelled", "cancelled", 200, 1000, 285.369}},
      {"megatron-lm-cuda-compile-traceback.log", {"failed", "exception", -1, -1}},
      {"megatron-lm-gpt3-slurm.log", {"unknown", "", 3, 508626, 742.7232}},
      {"nemo-k8s-pretrain.log", {"unknown", "", 48, -1, 141.08}},
      {"p5-fsdp-torchrun-2.log", {"unknown", "", 5, 5000, 43}},
      {"p5-fsdp-torchrun-nccl-ofi.log", {"unknown", "", 5, 100, 16}},
      {"torchtitan-p5-step1990-compile.log", {"unknown", "", 1990, -1}},
      {"tr1-13b-dataloader-bus-error-shm.log", {"failed", "shared_memory", -1, -1}},
      {"tr1-13b-restart-cuda-oom-in-barrier.log", {"failed", "gpu_oom", -1, -1}},
      // It was set to exit after some minutes, and did, with a checkpoint.
      {"tr1-13b-slow-checkpoint-iterations.log", {"completed", "", 33240, 311541, 23.4914}},
      {"tr1-13b-v100-uncorrectable-ecc-crash.log", {"failed", "gpu_ecc", 43680, 311541, 25.5934}},
      {"tr11-176b-a100-hang-pulse.log", {"hanging", "hang", 45000, 115311, 111}},
      {"tr11-176b-a100-loss-iterations-1.log", {"unknown", "", 31251, 115311, 1170.07}},
      // Three means of ten steps each; those between are cut out.
      {"tr8-104b-iterations.log", {"unknown", "", 7220, 159576, 569.435}},
      {"tr8b-104b-iterations-loss-spike.log", {"unknown", "", 17068, 159576, 3956.6041}},
  };
  return *table;
}

JobReport TriageOfFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return TriageOf({{path.filename().string(), text.str()}});
}

TEST(RealLogs, AreWhatTheySay) {
  if (!fs::exists(Logs())) GTEST_SKIP() << "../shared/fixtures is not here";
  std::set<std::string> seen;
  for (const auto& entry : fs::directory_iterator(Logs())) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const auto expected = Table().find(name);
    if (expected == Table().end()) {
      ADD_FAILURE() << "read this log and say in the table what it is of";
      continue;
    }
    seen.insert(name);
    const JobReport report = TriageOfFile(entry.path());
    EXPECT_EQ(ToString(report.decision.status), expected->second.status) << report.decision.why;
    EXPECT_EQ(PrimaryOf(report), expected->second.primary);
    EXPECT_EQ(report.progress.last_step.value_or(-1), expected->second.last_step);
    EXPECT_EQ(report.progress.total_steps.value_or(-1), expected->second.total);
    EXPECT_NEAR(report.progress.timed ? report.progress.sum_seconds : -1,
                expected->second.sum_seconds, 1e-6);
  }
  EXPECT_EQ(seen.size(), Table().size()) << "a log of the table is gone";
}

TEST(RealLogs, SayWhereAndWhen) {
  if (!fs::exists(Logs())) GTEST_SKIP() << "../shared/fixtures is not here";
  const JobReport cancelled = TriageOfFile(Logs() / "megatron-gpt2-n4-v100-cancelled.out");
  EXPECT_EQ(cancelled.context.job, "1809579");
  EXPECT_EQ(cancelled.context.node, "r8i3n1");
  EXPECT_EQ(cancelled.primary->first.line, 1577);
  EXPECT_EQ(cancelled.primary->first.time, At("2021-05-23T08:45:57Z"));
  EXPECT_FALSE(cancelled.decision.stalled);
  EXPECT_EQ(cancelled.progress.lost_steps, 200);

  const JobReport hang = TriageOfFile(Logs() / "tr11-176b-a100-hang-pulse.log");
  EXPECT_EQ(hang.now, At("2022-05-01T05:56:18Z"));
  EXPECT_EQ(hang.progress.idle, absl::Minutes(120) + absl::Seconds(7));
  EXPECT_EQ(hang.progress.expected_step, 45064);

  const JobReport ecc = TriageOfFile(Logs() / "tr1-13b-v100-uncorrectable-ecc-crash.log");
  EXPECT_EQ(ecc.primary->first.line, 20);

  const JobReport torchtitan = TriageOfFile(Logs() / "torchtitan-p5-step1990-compile.log");
  EXPECT_EQ(torchtitan.progress.writers, 4);
  ASSERT_EQ(torchtitan.courses.size(), 2);
  EXPECT_EQ(torchtitan.courses[0].steady, 6785);
  EXPECT_EQ(torchtitan.courses[1].steady, 39.73);
}

}  // namespace
}  // namespace galen::triage
