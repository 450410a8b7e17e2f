// Formats of trainers that print no declaration of their steps, ends of programs, and lines that
// look like failures but are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace formats_test {

using ::testing::Optional;

std::string StatusOf(const JobReport& report) {
  return std::string(ToString(report.decision.status));
}

std::int64_t LastStep(const JobReport& report) { return report.progress.last_step.value_or(-1); }

struct Shape {
  const char* name;
  const char* log;
  std::int64_t step;
  std::int64_t total;
  double seconds;  // of a step; 0: unknown
};

class Shapes : public ::testing::TestWithParam<Shape> {};

TEST_P(Shapes, AreRead) {
  const Shape& shape = GetParam();
  const JobReport report = TriageOf(shape.log);
  EXPECT_EQ(LastStep(report), shape.step);
  if (shape.total > 0) {
    EXPECT_THAT(report.progress.total_steps, Optional(shape.total));
  }
  if (shape.seconds > 0) {
    ASSERT_TRUE(report.progress.step_seconds.has_value());
    EXPECT_NEAR(*report.progress.step_seconds, shape.seconds, 0.02 * shape.seconds);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Shapes,
    ::testing::Values(
        Shape{"nanochat",
              "step 00008/00050 (16.00%) | loss: 9.1 | lrm: 1.00 | dt: 5678.90ms | tok/sec: 92,345 "
              "| mfu: 12.30 | total time: 0.10m\n"
              "step 00009/00050 (18.00%) | loss: 8.9 | lrm: 1.00 | dt: 5678.90ms | tok/sec: 92,345 "
              "| mfu: 12.30 | total time: 0.20m\n",
              9, 50, 5.679},
        // A later phase declares no total.
        Shape{
            "nanochat_phases",
            "step 00049/00050 (98.00%) | loss: 2.9 | lrm: 0.10 | dt: 480.00ms | tok/sec: 1,092,345 "
            "| mfu: 48.30 | total time: 0.40m\n"
            "step 00000 (0.00%) | loss: 2.1 | lrm: 1.00 | dt: 480.00ms | tok/sec: 1,092,345 | mfu: "
            "48.30 | total time: 0.00m\n"
            "step 00001 (2.00%) | loss: 2.0 | lrm: 1.00 | dt: 480.00ms | tok/sec: 1,092,345 | mfu: "
            "48.30 | total time: 0.00m\n",
            1, 0, 0.48},
        Shape{"fairseq",
              "[2022-04-08 18:48:05,372][train_inner][INFO] - {\"epoch\": 1, \"update\": 0.416, "
              "\"loss\": \"9.276\", \"wps\": \"58056.1\", \"ups\": \"0.5\", \"bsz\": \"336.2\", "
              "\"num_updates\": \"200\", \"lr\": \"3.125e-06\", \"wall\": \"425\"}\n"
              "[2022-04-08 18:54:45,183][train_inner][INFO] - {\"epoch\": 1, \"update\": 0.832, "
              "\"loss\": \"6.961\", \"wps\": \"58120\", \"ups\": \"0.5\", \"bsz\": \"337.3\", "
              "\"num_updates\": \"400\", \"lr\": \"6.25e-06\", \"wall\": \"825\"}\n",
              400, 0, 2.0625},
        // Steps of an epoch count over all epochs.
        Shape{"mmengine",
              "09/18 11:20:42 - mmengine - INFO - Epoch(train) [32][11100/15169]  lr: 3.1250e-04  "
              "eta: 14:33:18  time: 0.1836  data_time: 0.0052  memory: 4088  loss: 0.5216\n"
              "09/18 11:21:00 - mmengine - INFO - Epoch(train) [32][11200/15169]  lr: 3.1250e-04  "
              "eta: 14:32:47  time: 0.1836  data_time: 0.0049  memory: 4089  loss: 0.5809\n",
              31 * 15169 + 11200, 0, 0.1836},
        Shape{"mmcv",
              "2021-04-12 20:13:56,752 - mmdet - INFO - Epoch [1][50/9870]\tlr: 9.967e-04, eta: "
              "16:20:45, time: 0.497, data_time: 0.056, memory: 8780, loss: 1.0050\n",
              50, 0, 0.497},
        Shape{
            "swin",
            "[2024-09-24 09:36:48 ViT-B/16] (main.py 188): INFO Train: [2/50][4/6]\teta 0:08:30 lr "
            "0.000000000\ttime 1.2500 (1.2500)\ttot_loss 0.4772 (0.4772)\tmem 0MB\n",
            16, 300, 1.25},
        Shape{"ultralytics",
              "       1/50      8.38G     0.5582     0.4203     0.8412         49        640: 100% "
              "75/75 "
              "1.5s/it 1:52\n"
              "       2/50      8.38G     0.5581     0.4103     0.8312         52        640: 73% "
              "55/75 "
              "1.1s/it 1:22<22.1s\n",
              2, 50, 0},
        Shape{"llmc",
              "step    1/19560 | loss 11.007906 (+nanz)| norm 16.3235 (+nanz)| lr 2.86e-06 | "
              "2734.72 ms | 55.1% bf16 MFU | 167751 tok/s\n"
              "step    2/19560 | loss 10.829729 (+nanz)| norm 15.0011 (+nanz)| lr 5.71e-06 | "
              "2734.72 ms | 55.1% bf16 MFU | 191824 tok/s\n",
              2, 19560, 2.735},
        Shape{"moddednanogpt",
              "step:198/6200 train_loss:4.7291 train_time:40707ms step_avg:216.53ms\n"
              "step:199/6200 train_loss:4.7291 train_time:40923ms step_avg:216.53ms\n",
              199, 6200, 0.2165},
        Shape{"kohya",
              "running training\r\nsteps:  18%|█▊        | 506/2800 [10:06<45:00,  1.2s/it, "
              "avr_loss=0.1]\rsteps:  18%|█▊        | 507/2800 [10:08<45:00,  1.2s/it, "
              "avr_loss=0.1]\n",
              507, 2800, 0},
        Shape{"trl",
              "{'loss': 1.2, 'grad_norm': 0.3, 'learning_rate': 2e-05, 'epoch': 0.1}\n"
              " 52%|█████▏    | 259/500 [12:05<11:00,  2.80s/it]\n"
              " 52%|█████▏    | 260/500 [12:08<11:00,  2.80s/it]\n",
              260, 500, 0},
        Shape{"keyvalue",
              "[INFO] iteration=12/400 loss=2.31 step_time=3.1 tokens_per_sec=12000\n"
              "[INFO] iteration=13/400 loss=2.30 step_time=3.1 tokens_per_sec=12000\n",
              13, 400, 3.1},
        Shape{"json",
              "{\"step\": 120, \"loss\": 2.31, \"step_time\": 0.5}\n"
              "{\"step\": 121, \"loss\": 2.30, \"step_time\": 0.5}\n",
              121, -1, 0.5}),
    [](const auto& shape) { return shape.param.name; });

TEST(BarsTest, ABarOfSomethingElseIsNoStep) {
  EXPECT_EQ(LastStep(TriageOf("Loading checkpoint shards:  50%|█████     | 2/4 [00:10<00:10]\n"
                              "Map:  10%|█         | 1000/10000 [00:01<00:09]\n")),
            -1);
}

TEST(BarsTest, OfSeveralBarsTheOneThatRunsLongestIsTraining) {
  const JobReport report = TriageOf(
      "***** Running training *****\n"
      "  2%|▏         | 10/500 [01:00<49:00,  6.0s/it]\n"
      "100%|██████████| 13/13 [00:05<00:00,  2.4it/s]\n"
      "  4%|▍         | 20/500 [02:00<48:00,  6.0s/it]\n");
  EXPECT_EQ(LastStep(report), 20);
  EXPECT_THAT(report.progress.total_steps, Optional(500));
}

TEST(BarsTest, AFullBarOfWhoKnowsWhatIsNoSuccess) {
  const JobReport report = TriageOf(
      "100%|██████████| 100/100 [00:05<00:00,  2.4it/s]\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n");
  EXPECT_EQ(StatusOf(report), "failed");
  EXPECT_EQ(PrimaryOf(report), "gpu_oom");
}

TEST(BarsTest, OfALineThatIsDrawnOverAndOverItsEndCounts) {
  std::string line = "***** Running training *****\n";
  for (int step = 1; step <= 700; ++step) {
    absl::StrAppend(&line, "\r", step / 10, "%|█         | ", step, "/1000 [", step / 60, ":",
                    step % 60 < 10 ? "0" : "", step % 60, "<10:00,  1.0s/it]");
  }
  EXPECT_EQ(LastStep(TriageOf(line + "\n")), 700);
}

TEST(EndsTest, MlperfSaysHowItEnded) {
  const std::string log =
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1715110911443, \"event_type\": "
      "\"INTERVAL_START\", \"key\": \"run_start\", \"value\": \"\", \"metadata\": {}}\n"
      "node-1:1:2 [0] init.cc:2095 NCCL WARN MSCCL++: Cannot enable MSCCL++ because of a reason\n"
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1715115677255, \"event_type\": "
      "\"INTERVAL_END\", \"key\": \"run_stop\", \"value\": 0.9, \"metadata\": {\"status\": \"";
  const JobReport done = TriageOf(log + "success\"}}\n");
  EXPECT_EQ(StatusOf(done), "completed");
  ASSERT_TRUE(done.progress.end.has_value());
  EXPECT_EQ(*done.progress.end, absl::FromUnixMillis(1715115677255));
  EXPECT_EQ(StatusOf(TriageOf(log + "aborted\"}}\n")), "failed");
}

TEST(EndsTest, WhoInterruptsCancels) {
  const JobReport report =
      TriageOf("Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyboardInterrupt\n");
  EXPECT_EQ(StatusOf(report), "cancelled");
}

TEST(EndsTest, AServerThatWasShutDownDidNotFail) {
  EXPECT_EQ(StatusOf(TriageOf("INFO:     Shutting down\nINFO:     Application shutdown "
                              "complete.\nINFO:     Finished server process [7]\n")),
            "completed");
  EXPECT_EQ(StatusOf(TriageOf("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 "
                              "GiB\nINFO:     Application shutdown complete.\n")),
            "failed");
}

TEST(MemoryTest, OfTheGpuAndOfTheHostAreTwo) {
  EXPECT_EQ(PrimaryOf(TriageOf("torch.OutOfMemoryError: Caught OutOfMemoryError in replica 0 on "
                               "device 0.\n")),
            "gpu_oom");
  EXPECT_EQ(PrimaryOf(TriageOf("MemoryError: Unable to allocate 3 GiB\n")), "host_oom");
  EXPECT_EQ(PrimaryOf(TriageOf("ray.exceptions.OutOfMemoryError: Task was killed due to the node "
                               "running low on memory.\n")),
            "host_oom");
}

TEST(HarmlessTest, WhatAServerAnsweredIsNoObjectStore) {
  EXPECT_EQ(PrimaryOf(TriageOf("INFO:     127.0.0.1:4 - \"GET /health_generate HTTP/1.1\" 503 "
                               "Service Unavailable\n")),
            "");
}

TEST(HarmlessTest, AWarningOfNcclAloneEndsNothing) {
  const JobReport report = TriageOf("node-1:1:2 [0] net.cc:9 NCCL WARN something is odd\n");
  EXPECT_EQ(StatusOf(report), "unknown");
  EXPECT_EQ(PrimaryOf(report), "");
}

TEST(HarmlessTest, AConnectionToAHubThatWasResetIsNoFaultOfNccl) {
  const JobReport report = TriageOf(
      "WARNING - '[Errno 104] Connection reset by peer' thrown while requesting GET https://hub/x\n"
      "RuntimeError: Cannot send a request, as the client has been closed.\n");
  EXPECT_EQ(PrimaryOf(report), "exception");
}

TEST(EndsTest, AWorkerThatWasTerminatedWasAskedToStop) {
  const JobReport report = TriageOf(
      "[rank: 2] Received SIGTERM: 15\n"
      "RuntimeError: DataLoader worker (pid 4020404) is killed by signal: Terminated. \n");
  EXPECT_EQ(StatusOf(report), "cancelled");
  EXPECT_EQ(PrimaryOf(report), "interrupted");
}

TEST(EndsTest, ACheckpointThatCouldNotBeWrittenIsMoreThanAnException) {
  EXPECT_EQ(PrimaryOf(TriageOf("RuntimeError: [enforce fail at inline_container.cc:764] . "
                               "PytorchStreamWriter failed writing file data/247: file write "
                               "failed\n")),
            "checkpoint_storage");
}

TEST(RunsTest, OfAppendedRunsTheLastOneIsTold) {
  const JobReport report = TriageOf(
      "SLURM_JOB_ID=17\nRuntimeError: CUDA error: an illegal memory access was encountered\n"
      "SLURM_JOB_ID=18\nslurmstepd: error: *** JOB 18 ON n1 CANCELLED AT 2025-03-04T05:06:07 "
      "***\n");
  EXPECT_EQ(StatusOf(report), "cancelled");
  EXPECT_THAT(report.context.job, Optional(std::string("18")));
}

TEST(TimesTest, NoLineIsOfTheFuture) {
  TriageOptions options;
  options.near = At("2026-11-27T00:00:00Z");
  options.latest = options.near;
  const JobReport report = TriageOf("INFO 05-26 10:00:00 [a.py:1] begins\n", options);
  ASSERT_TRUE(report.progress.begin.has_value());
  EXPECT_EQ(*report.progress.begin, At("2026-05-26T10:00:00Z"));
  // The year in a line near the beginning applies to all lines.
  const JobReport told =
      TriageOf("INFO 05-26 10:00:00 [a.py:1] begins\n2025-05-26 10:00:05,001 INFO up\n", options);
  EXPECT_EQ(*told.progress.begin, At("2025-05-26T10:00:00Z"));
}

TEST(RealLogsTest, OfSharedLogsEachIsReadAsAPersonDoes) {
  const std::string folder = GALEN_SOURCE_DIR "/../shared/logs/";
  if (!std::ifstream(folder + "README.md")) GTEST_SKIP() << folder << " is not here";
  for (const char* name :
       {"mlperf40-deepspeed-a100-lora", "mlperf40-gaudi2-gpt3", "mlperf40-maxtext-tpu-v5p-gpt3",
        "mlperf40-nemo-h100-gpt3", "mlperf51-mi325x-2n-lora", "mlperf51-mi355x-llama31-8b",
        "modded-nanogpt-muon"}) {
    std::ifstream in(absl::StrCat(folder, name, ".txt"));
    std::ostringstream text;
    text << in.rdbuf();
    const JobReport report = TriageOf(text.str());
    EXPECT_EQ(StatusOf(report), "completed") << name;
    EXPECT_EQ(PrimaryOf(report), "") << name;
    if (std::string(name) == "modded-nanogpt-muon") {
      EXPECT_EQ(LastStep(report), 6200);
      EXPECT_NEAR(report.progress.step_seconds.value_or(0), 0.216, 0.005);
    }
  }
}

}  // namespace formats_test
}  // namespace galen::triage
