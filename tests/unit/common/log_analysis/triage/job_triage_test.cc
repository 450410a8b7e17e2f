// Claims about the triage of a job's logs.
#include "common/log_analysis/triage/job_triage.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Steps of MaxText from `first` to `last`, each of `seconds`, one a rank's line, from 12:00:00.
std::string MaxText(int first, int last, double seconds, const std::string& prefix = "") {
  std::string text;
  for (int step = first; step <= last; ++step) {
    const absl::Time time =
        At("2026-05-01T12:00:00Z") + absl::Seconds((step - first + 1) * seconds);
    absl::StrAppend(&text, prefix, absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::UTCTimeZone()),
                    absl::StrFormat(" completed step: %d, seconds: %.3f, TFLOP/s/device: 400.0, "
                                    "Tokens/s/device: 3000.0, total_weights: 1, loss: 2.0\n",
                                    step, seconds));
  }
  return text;
}

constexpr char kHeader[] =
    "PASSTHROUGH_ARGS: steps=1000 enable_checkpointing=true\n"
    "Config param checkpoint_period: 100\n"
    "No existing checkpoints found, not restoring checkpoint.\n";

TEST(JobTriage, StepsAreCountedFromZeroWhereTheProgramDoes) {
  const JobReport report =
      TriageOf(absl::StrCat("PASSTHROUGH_ARGS: steps=20\n", MaxText(0, 19, 10)));
  EXPECT_EQ(report.decision.status, Status::kCompleted);
  EXPECT_FALSE(report.decision.soft);
  EXPECT_EQ(report.progress.last_step, 19);
  EXPECT_EQ(report.progress.total_steps, 20);
  EXPECT_EQ(report.progress.sum_seconds, 200);
  EXPECT_EQ(report.progress.step_seconds, 10);
  EXPECT_EQ(report.progress.remaining, absl::ZeroDuration());
  EXPECT_EQ(PrimaryOf(report), "");
}

TEST(JobTriage, ProgressIsProjected) {
  TriageOptions options;
  options.scheduler = SchedulerState::kRunning;
  options.now = At("2026-05-01T13:00:00Z");
  const JobReport report =
      TriageOf(absl::StrCat(kHeader, MaxText(0, 250, 10)), options);  // to 12:41:50
  const Progress& progress = report.progress;
  EXPECT_EQ(report.decision.status, Status::kHanging);
  EXPECT_EQ(PrimaryOf(report), "hang");
  EXPECT_EQ(progress.expected_step, 250 + 109);  // 18 min 10 s of 10 s
  EXPECT_EQ(progress.checkpoint_period, 100);
  EXPECT_EQ(progress.saved_step, 200);
  EXPECT_TRUE(progress.saved_by_period);
  EXPECT_EQ(progress.lost_steps, 50);
  EXPECT_EQ(progress.remaining, absl::Seconds(7490));
  EXPECT_EQ(progress.restored, false);

  options.now = At("2026-05-01T12:42:00Z");
  EXPECT_EQ(TriageOf(absl::StrCat(kHeader, MaxText(0, 250, 10)), options).decision.status,
            Status::kRunning);
}

TEST(JobTriage, WithoutAWordOfTheSchedulerNothingIsGuessed) {
  TriageOptions options;
  options.now = At("2026-05-02T00:00:00Z");
  const JobReport report = TriageOf(absl::StrCat(kHeader, MaxText(0, 250, 10)), options);
  EXPECT_EQ(report.decision.status, Status::kUnknown);
  EXPECT_THAT(report.unknown, Contains(HasSubstr("--scheduler-state")));
  options.scheduler = SchedulerState::kEnded;
  EXPECT_EQ(TriageOf(absl::StrCat(kHeader, MaxText(0, 250, 10)), options).decision.status,
            Status::kUnknownDeath);
}

TEST(JobTriage, WrittenCheckpointsCountMoreThanTheirPeriod) {
  const JobReport report = TriageOf(absl::StrCat(
      kHeader, MaxText(0, 100, 1), "Saved a checkpoint at step 100.\n", MaxText(101, 230, 1)));
  EXPECT_EQ(report.progress.saved_step, 100);
  EXPECT_FALSE(report.progress.saved_by_period);
  EXPECT_EQ(report.progress.lost_steps, 130);
}

TEST(JobTriage, AHangBeforeTheCancelIsTheFailure) {
  const std::string cancel =
      "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-05-01T15:00:00 ***\n";
  const JobReport hung = TriageOf(absl::StrCat(kHeader, MaxText(0, 250, 10), cancel));
  EXPECT_EQ(hung.decision.status, Status::kCancelled);
  EXPECT_TRUE(hung.decision.stalled);
  EXPECT_EQ(PrimaryOf(hung), "hang");
  EXPECT_THAT(OthersOf(hung), ElementsAre("cancelled"));
  EXPECT_EQ(hung.context.job, "77");
  EXPECT_EQ(hung.context.node, "n1");

  const JobReport at_once = TriageOf(
      absl::StrCat(kHeader, MaxText(0, 250, 10),
                   "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-05-01T12:42:00 ***\n"));
  EXPECT_EQ(at_once.decision.status, Status::kCancelled);
  EXPECT_FALSE(at_once.decision.stalled);
  EXPECT_EQ(PrimaryOf(at_once), "cancelled");
}

// Lines of Megatron have no time: the sum of the steps against the clock says that one is missing.
TEST(JobTriage, TheSumOfTheStepsProvesAStallWhereLinesHaveNoTime) {
  std::string text = "[before the start of training step] datetime: 2026-05-01 12:00:00 \n";
  for (int i = 1; i <= 60; ++i) {
    absl::StrAppendFormat(&text,
                          " iteration %8d/    1000 | consumed samples: 1 | elapsed time per "
                          "iteration (ms): 10000.0 | lm loss: 1.0 |\n",
                          i);
  }
  const auto cancelled_at = [&](const char* time) {
    return TriageOf(
        absl::StrCat(text, "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT ", time, " ***\n"));
  };
  const JobReport hung = cancelled_at("2026-05-01T14:00:00");
  EXPECT_EQ(hung.progress.sum_seconds, 600);
  EXPECT_EQ(hung.progress.unaccounted, absl::Minutes(110));
  EXPECT_TRUE(hung.decision.stalled);
  EXPECT_EQ(PrimaryOf(hung), "hang");
  EXPECT_EQ(PrimaryOf(cancelled_at("2026-05-01T12:11:00")), "cancelled");
}

TEST(JobTriage, AHeartbeatTimeoutAfterAHangIsHowItEndedNotWhy) {
  const JobReport report = TriageOf(absl::StrCat(
      kHeader, MaxText(0, 250, 10),
      "2026-05-01 13:30:00 UNAVAILABLE: The following tasks are unhealthy (stopped sending "
      "heartbeats):\n  /job:jax_worker/replica:0/task:X\n"));
  EXPECT_EQ(report.decision.status, Status::kFailed);
  EXPECT_EQ(PrimaryOf(report), "hang");
  EXPECT_THAT(OthersOf(report), ElementsAre("heartbeat_timeout"));
}

TEST(JobTriage, TheCauseStandsBeforeWhatFollowedFromIt) {
  const JobReport report = TriageOf(absl::StrCat(
      kHeader, MaxText(0, 250, 10),
      "[rank7]:[E501 12:42:01.1 ProcessGroupNCCL.cpp:616] [Rank 7] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=1521, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
      "Timeout(ms)=600000) ran for 600042 milliseconds before timing out.\n"
      "[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
      "srun: Job step aborted: Waiting up to 62 seconds for job step to finish.\n"
      "slurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2026-05-01T12:42:10 ***\n"
      "srun: error: n1: task 3: Exited with exit code 1\n"
      "srun: error: n1: task 7: Aborted (core dumped)\n"));
  EXPECT_EQ(report.decision.status, Status::kFailed);
  EXPECT_EQ(PrimaryOf(report), "gpu_ecc");
  EXPECT_EQ(report.primary->first.writer, "rank 3");
  EXPECT_EQ(report.primary->signature, "ecc");
  EXPECT_EQ(report.primary->first.line, 3 + 251 + 2);
  EXPECT_EQ(report.stage, "training");
  EXPECT_THAT(OthersOf(report),
              ElementsAre("collective_timeout", "cancelled", "process_killed", "torn_down"));
  ASSERT_EQ(report.ends.size(), 2);
  EXPECT_EQ(report.ends[0].rank, 3);
  EXPECT_EQ(report.ends[0].end.exit_code, 1);
  EXPECT_EQ(report.ends[1].rank, 7);
  EXPECT_EQ(report.ends[1].end.signal, 6);
  EXPECT_THAT(report.ends[1].meaning, HasSubstr("SIGABRT"));
}

TEST(JobTriage, WhatStepsWentOnAfterIsNotWhatTheJobDiedOf) {
  const JobReport report = TriageOf(absl::StrCat(
      MaxText(0, 50, 10), "[rank1]: ConnectionResetError: [Errno 104] Connection reset by peer\n",
      MaxText(51, 90, 10),
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n"));
  EXPECT_EQ(PrimaryOf(report), "gpu_oom");
  ASSERT_THAT(OthersOf(report), ElementsAre("nccl_error"));
  EXPECT_TRUE(report.others[0].survived);
}

TEST(JobTriage, WhatStandsBeforeTheEndOfAJobThatFinishedWasSurvived) {
  const std::string error = "socket.gaierror: [Errno -2] Name or service not known\n";
  const std::string done = "2026-05-01T14:07:12Z INFO     training finished\n";
  const JobReport before = TriageOf(error + done);
  EXPECT_EQ(before.decision.status, Status::kCompleted);
  EXPECT_FALSE(before.decision.soft);
  ASSERT_THAT(OthersOf(before), ElementsAre("name_resolution"));
  EXPECT_TRUE(before.others[0].survived);
  const JobReport after = TriageOf(done + error);
  EXPECT_TRUE(after.decision.soft);
  EXPECT_FALSE(after.others[0].survived);
}

TEST(JobTriage, AnotherRanksLateStepIsNoProgress) {
  const JobReport report = TriageOf(absl::StrCat(
      MaxText(0, 9, 10, "[rank0]:"), MaxText(0, 8, 10, "[rank1]:"),
      "[rank2]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.\n",
      MaxText(9, 9, 10, "[rank1]:"), MaxText(10, 10, 10, "[rank0]:")));
  EXPECT_EQ(report.decision.status, Status::kFailed);
  EXPECT_EQ(PrimaryOf(report), "gpu_oom");
}

TEST(JobTriage, AHangBeforeTheFirstStepNeedsAWordThatStepsWereToCome) {
  TriageOptions options;
  options.scheduler = SchedulerState::kRunning;
  options.now = At("2026-05-01T15:00:00Z");
  const std::string setup = "2026-05-01 12:00:00 loading\n";
  const std::string begins = "2026-05-01 12:10:00 Synchronizing hosts before training loop\n";
  const JobReport hung = TriageOf(setup + begins, options);
  EXPECT_EQ(hung.decision.status, Status::kHanging);
  EXPECT_EQ(PrimaryOf(hung), "hang");
  EXPECT_EQ(hung.stage, "before training");
  // A program with unknown steps may be fine.
  EXPECT_EQ(TriageOf(setup, options).decision.status, Status::kUnknown);

  const std::string cancel =
      "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-05-01T15:00:00 ***\n";
  EXPECT_EQ(PrimaryOf(TriageOf(setup + begins + cancel)), "hang");
  EXPECT_EQ(PrimaryOf(TriageOf(setup + cancel)), "cancelled");
}

TEST(JobTriage, SoftSuccessIsSaidSo) {
  const JobReport report = TriageOf(absl::StrCat("PASSTHROUGH_ARGS: steps=20\n", MaxText(0, 19, 10),
                                                 "Actor failed: teardown\n",
                                                 "== JOB SUMMARY ==\nStatus: FAILED (exit 1)\n"));
  EXPECT_EQ(report.decision.status, Status::kCompleted);
  EXPECT_TRUE(report.decision.soft);
  EXPECT_EQ(PrimaryOf(report), "");
  EXPECT_THAT(OthersOf(report), ElementsAre("subprocess_failed"));
}

TEST(JobTriage, ARestartIsARunOfItsOwn) {
  const JobReport report = TriageOf(
      absl::StrCat(kHeader, MaxText(0, 150, 10),
                   "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n",
                   "restoring from this run's directory step 100\n", MaxText(101, 160, 10)));
  EXPECT_EQ(report.progress.runs, 2);
  EXPECT_EQ(report.progress.first_step, 101);
  EXPECT_EQ(report.progress.last_step, 160);
  EXPECT_EQ(report.progress.restored, true);
  EXPECT_EQ(report.progress.restored_step, 100);
  EXPECT_EQ(report.progress.sum_seconds, 10 * (151 + 60));
  EXPECT_EQ(report.decision.status, Status::kUnknown);
  EXPECT_THAT(OthersOf(report), Contains("gpu_oom"));
}

TEST(JobTriage, FilesOfRanksAreToldApart) {
  const JobReport report = TriageOf(
      {{"job.log", absl::StrCat(kHeader, MaxText(0, 30, 10))},
       {"job/rank-1.log", MaxText(0, 30, 10)},
       {"job/rank-12.log", absl::StrCat(MaxText(0, 30, 10),
                                        "RuntimeError: CUDA error: an illegal memory access was "
                                        "encountered\n")}});
  EXPECT_EQ(report.decision.status, Status::kFailed);
  EXPECT_EQ(PrimaryOf(report), "illegal_access");
  EXPECT_EQ(report.primary->first.writer, "rank 12");
  EXPECT_EQ(report.primary->first.log, "job/rank-12.log");
  EXPECT_EQ(report.primary->first.line, 32);
  EXPECT_EQ(report.progress.writers, 3);
  EXPECT_EQ(report.logs.size(), 3);
}

TEST(JobTriage, ThroughputThatFellIsNoted) {
  std::string text = MaxText(0, 40, 10);
  for (int step = 41; step < 80; ++step) {
    absl::StrAppendFormat(&text,
                          "completed step: %d, seconds: 13.0, TFLOP/s/device: 300.0, "
                          "Tokens/s/device: 2300.0, total_weights: 1, loss: nan\n",
                          step);
  }
  const JobReport report = TriageOf(text);
  EXPECT_THAT(OthersOf(report), ElementsAre("rate_drop", "loss_not_finite"));
  EXPECT_THAT(report.others[0].first.text, HasSubstr("-23 %"));
  EXPECT_EQ(report.others[1].count, 39);
  EXPECT_EQ(report.others[1].first.line, 42);
  ASSERT_FALSE(report.courses.empty());
  EXPECT_EQ(report.courses[0].name, "step time");
  EXPECT_EQ(report.courses[0].count, 80);
  EXPECT_EQ(report.courses[0].max, 13);
}

TEST(JobTriage, TokensAreWorkedOutOfTheBatchWhereTheLogDoesNotSayThem) {
  std::string text =
      "using world size: 64, data-parallel-size: 1\n  seq_length ...................... 1024\n";
  for (int i = 1; i <= 9; ++i) {
    absl::StrAppendFormat(&text,
                          " iteration %8d/ 100 | consumed samples: 1 | elapsed time per iteration "
                          "(ms): 2000.0 | global batch size:  128 | lm loss: 1.0 |\n",
                          i);
  }
  const JobReport report = TriageOf(text);
  ASSERT_EQ(report.courses.size(), 3);
  EXPECT_EQ(report.courses[1].name, "tokens per GPU");
  EXPECT_TRUE(report.courses[1].derived);
  EXPECT_EQ(report.courses[1].steady, 128 / 2.0 * 1024 / 64);
}

TEST(JobTriage, AServerIsReadByItsReports) {
  std::string text;
  for (int i = 0; i < 30; ++i) {
    absl::StrAppendFormat(&text,
                          "INFO 05-12 12:11:%02d [loggers.py:116] Engine 000: Avg prompt "
                          "throughput: 1.0 tokens/s, Avg generation throughput: %d.0 tokens/s, "
                          "Running: 4 reqs\n",
                          i, 100 + i);
  }
  const JobReport report = TriageOf(absl::StrCat(
      text, "ERROR 05-12 12:11:31 [core.py:1] EngineCore encountered a fatal error.\n"));
  EXPECT_EQ(report.progress.framework, "vLLM");
  EXPECT_EQ(report.progress.last_step, std::nullopt);
  ASSERT_EQ(report.courses.size(), 1);
  EXPECT_EQ(report.courses[0].count, 30);
  EXPECT_EQ(PrimaryOf(report), "engine_failed");
}

TEST(JobTriage, WhatIsHarmlessIsNoFailure) {
  const JobReport report = TriageOf(
      "NCCL WARN MSCCL++: Feature not enabled\n"
      "OCI runtime exec failed: exec failed: container is not running, exit code: 1\n"
      "INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)\n"
      "UserWarning: CUDA error: out of memory is possible, errors=0\n");
  EXPECT_EQ(PrimaryOf(report), "");
  EXPECT_THAT(report.others, IsEmpty());
  EXPECT_EQ(report.decision.status, Status::kUnknown);
}

TEST(JobTriage, ContainersThatKubernetesKilledAreNamed) {
  const JobReport report = TriageOf(
      "Namespace:        ml\nPod: train-worker-3\n"
      "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n");
  EXPECT_EQ(report.decision.status, Status::kFailed);
  EXPECT_EQ(PrimaryOf(report), "host_oom");
  EXPECT_EQ(report.context.pod, "train-worker-3");
  EXPECT_EQ(report.context.name_space, "ml");
  ASSERT_EQ(report.ends.size(), 1);
  EXPECT_EQ(report.ends[0].end.signal, 9);
}

TEST(JobTriage, WhatSlurmSaysOfTheJobIsItsState) {
  const std::string running = "JobId=77 JobName=train\n   JobState=RUNNING Reason=None\n";
  const JobReport report =
      TriageOf({{"train.log", absl::StrCat(kHeader, MaxText(0, 9, 10))}, {"scontrol.txt", running}},
               TriageOptions{.now = At("2026-05-01T16:00:00Z")});
  EXPECT_EQ(report.decision.status, Status::kHanging);
  EXPECT_EQ(report.scheduler, "running");
  EXPECT_EQ(report.context.job, "77");
  ASSERT_TRUE(report.scheduler_at.has_value());
  EXPECT_EQ(report.scheduler_at->log, "scontrol.txt");
}

TEST(JobTriage, TheReportDoesNotDependOnHowTheTextIsTruncated) {
  const std::string text =
      absl::StrCat(kHeader, MaxText(0, 50, 10, "[rank0]:"),
                   "[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered\n",
                   "srun: error: n1: task 3: Exited with exit code 1\r\n", "the end");
  const JobReport whole = TriageOf(text);
  for (const std::size_t piece : {1, 7, 64, 1000}) {
    const JobReport cut = TriageOf({{"train.log", text}}, {}, piece);
    EXPECT_EQ(cut.decision.status, whole.decision.status) << piece;
    EXPECT_EQ(PrimaryOf(cut), PrimaryOf(whole)) << piece;
    EXPECT_EQ(cut.primary->first.line, whole.primary->first.line) << piece;
    EXPECT_EQ(cut.progress.sum_seconds, whole.progress.sum_seconds) << piece;
    EXPECT_EQ(cut.progress.end, whole.progress.end) << piece;
    EXPECT_EQ(cut.logs[0].lines, whole.logs[0].lines) << piece;
    EXPECT_EQ(cut.logs[0].bytes, whole.logs[0].bytes) << piece;
    EXPECT_EQ(cut.ends.size(), whole.ends.size()) << piece;
  }
}

TEST(JobTriage, ATimeOfAnEarlierPieceOfTheTextIsStillKnown) {
  const std::string text =
      "2026-05-01 12:00:00 completed step: 3, seconds: 1.0, loss: 2.0\n"
      "2026-05-01 14:00:00 what the scheduler says\nof the job:\n   JobState=RUNNING\n";
  for (const std::size_t piece : {1, 7, 1000}) {
    const JobReport report = TriageOf({{"train.log", text}}, {}, piece);
    EXPECT_EQ(report.now, At("2026-05-01T14:00:00Z")) << piece;
    EXPECT_EQ(report.decision.status, Status::kHanging) << piece;
  }
}

TEST(JobTriage, NothingIsSaidOfNothing) {
  const JobReport report = TriageOf("");
  EXPECT_EQ(report.decision.status, Status::kUnknown);
  EXPECT_FALSE(report.primary.has_value());
  EXPECT_THAT(report.unknown, Not(IsEmpty()));
}

}  // namespace
}  // namespace galen::triage
