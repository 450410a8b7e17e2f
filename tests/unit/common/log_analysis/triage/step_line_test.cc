// Claims about the lines by which programs report steps: each format of the catalogue reads a line
// of its program, taken from the sources that it names.
#include "common/log_analysis/triage/step_line.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "tests/unit/common/log_analysis/triage/triage_testing.h"

namespace galen::triage {
namespace step_line_test {

struct Case {
  const char* format;
  const char* line;
  std::int64_t step;
  std::int64_t total;
  double seconds;         // -1: none
  double tokens_per_gpu;  // -1: none
  double tflops;          // -1: none
};

const Case kCases[] = {
    {"maxtext",
     "completed step: 4, seconds: 12.346, TFLOP/s/device: 401.500, Tokens/s/device: 2987.123, "
     "total_weights: 65536, loss: 10.812",
     4, -1, 12.346, 2987.123, 401.5},
    {"megatron",
     " [2025-04-13 23:41:12] iteration       10/    1000 | consumed samples:          160 | "
     "elapsed time per iteration (ms): 1147.6 | throughput per GPU (TFLOP/s/GPU): 413.7 | learning "
     "rate: 0.000000E+00 | global batch size:    16 | lm loss: 1.083E+01 | loss scale: 1.0 |",
     10, 1000, 1.1476, -1, 413.7},
    {"megatron",
     "[default7]: iteration    45000/  115311 | consumed samples:     76002224 | consumed tokens: "
     "155652554752 | elapsed time per iteration (s): 111.00 | learning rate: 4.298E-05 | global "
     "batch size:  2048 | lm loss: 2.113567E+00 | grad norm: 0.139 | samples per second: 18.451 | "
     "tokens per gpu per second (tgs): 98.4 | TFLOPs: 141.26 |",
     45000, 115311, 111, 98.4, 141.26},
    {"megatron",
     " iteration        1/infinity | consumed samples: 4 | elapsed time per iteration (ms): 2.5 |",
     1, -1, 0.0025, -1, -1},
    {"torchtitan",
     "[rank0]:2025-04-01 00:25:47,084 - root - INFO - step: 640  loss:  6.2116  grad_norm: 1.2  "
     "memory: 87.04GiB(93.48%)  tps: 52,142  tflops: 1,102.50  mfu: 3.09%",
     640, -1, -1, 52142, 1102.5},
    {"nemo",
     "Training epoch 2, iteration 7/999 | lr: 6.897e-06 | global_batch_size: 512 | global_step: 45 "
     "| "
     "reduced_train_loss: 11.02 | train_step_timing in s: 47.12 | consumed_samples: 23552",
     45, -1, 47.12, -1, -1},
    {"nemo-bar",
     "Epoch 0: : 100%|##########| 100/100 [10:48<00:00, reduced_train_loss=0.0172, "
     "global_step=99.00, consumed_samples=25600.0, train_step_timing in s=3.130]",
     99, -1, 3.13, -1, -1},
    {"aws-fsdp",
     "0: 2025-04-11 16:58:49 I [train.py:103] Batch 1 Loss: 11.20650, Speed: 14.51 samples/sec, "
     "lr: "
     "0.000013",
     1, -1, -1, -1, -1},
    {"nanogpt", "iter 100: loss 3.2041, time 123.45ms, mfu 40.12%", 100, -1, 0.12345, -1, -1},
    {"hf-bar",
     " 12%|#2        | 2/16 [01:50<12:50, 55.00s/it]\r 19%|#8  | 3/16 [02:45<11:55, 55s/it]", 3, 16,
     -1, -1, -1},
    {"tqdm-counter",
     "0it [00:00, ?it/s]\r7it [00:09, 1.30s/it]\r8it [00:16,  7.00s/it]slurmstepd: error", 8, -1, 7,
     -1, -1},
    {"tqdm-counter", "Epoch: 12it [01:50, 9.10s/it]", 12, -1, 9.1, -1, -1},
    {"deepspeed-timer",
     "[2023-11-29 08:57:30,611] [INFO] [timer.py:260:stop] epoch=0/micro_step=5/global_step=5, "
     "RunningAvgSamplesPerSec=311.41529524062446, CurrSamplesPerSec=329.45074244342015, "
     "MemAllocated=17.54GB",
     5, -1, -1, -1, -1},
    {"deepspeed-step",
     "[2023-06-21 03:46:19,251] [INFO] [logging.py:96:log_dist] [Rank 0] step=1890, skipped=19, "
     "lr=[9.27e-08], mom=[(0.9, 0.95)]",
     1890, -1, -1, -1, -1},
};

const StepFormat& FormatOf(absl::string_view name) {
  for (const StepFormat& format : RealCatalogue().catalogue().formats) {
    if (format.name == name) return format;
  }
  ADD_FAILURE() << "no format " << name;
  return RealCatalogue().catalogue().formats.front();
}

TEST(StepLine, EachFormatReadsTheLineOfItsProgram) {
  for (const Case& one : kCases) {
    const StepFormat& format = FormatOf(one.format);
    EXPECT_TRUE(RE2::PartialMatch(one.line, RE2(format.line))) << one.line;
    const auto step = ReadStepLine(format, one.line);
    ASSERT_TRUE(step.has_value()) << one.line;
    EXPECT_EQ(step->step, one.step) << one.line;
    EXPECT_EQ(step->total, one.total) << one.line;
    EXPECT_DOUBLE_EQ(step->Seconds().value_or(-1), one.seconds) << one.line;
    EXPECT_DOUBLE_EQ(step->Get(Quantity::kTokensPerGpu).value_or(-1), one.tokens_per_gpu)
        << one.line;
    EXPECT_DOUBLE_EQ(step->Get(Quantity::kTflops).value_or(-1), one.tflops) << one.line;
  }
}

TEST(StepLine, NoLineIsOfAFormatThatStandsBeforeItsOwn) {
  for (const Case& one : kCases) {
    for (const StepFormat& format : RealCatalogue().catalogue().formats) {
      if (format.name == one.format) break;
      EXPECT_FALSE(RE2::PartialMatch(one.line, RE2(format.line)) &&
                   ReadStepLine(format, one.line).has_value())
          << format.name << " takes the line of " << one.format;
    }
  }
}

TEST(StepLine, ACounterOfFastIterationsHasNoSteps) {
  const StepFormat& counter = FormatOf("tqdm-counter");
  EXPECT_FALSE(ReadStepLine(counter,
                            "1it [00:02, 2.00s/it]\r2it [00:03, 812.10it/s]\r3it [00:03, "
                            "812.10it/s]\r4it [00:03, 812.10it/s]\r5it [00:03, 812.10it/s]")
                   .has_value());
  // The last report was cut.
  EXPECT_EQ(ReadStepLine(counter, "1it [00:02, 2.00s/it]\r2it [00:04, 2.00s/it]\r3it [00:0")->step,
            2);
}

TEST(StepLine, AServerHasReportsAndNoSteps) {
  const auto report =
      ReadStepLine(FormatOf("vllm"),
                   "INFO 05-12 12:11:25 [loggers.py:116] Engine 000: Avg prompt throughput: 6949.8 "
                   "tokens/s, Avg "
                   "generation throughput: 5108.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->step, -1);
  EXPECT_EQ(report->Get(Quantity::kTokens), 5108.0);
}

TEST(StepLine, ALossThatIsNoNumberIsSaidSo) {
  const auto step = ReadStepLine(FormatOf("megatron"),
                                 " iteration 7/ 9 | consumed samples: 1 | elapsed time per "
                                 "iteration (ms): 5.0 | lm loss: NAN |");
  ASSERT_TRUE(step.has_value());
  EXPECT_TRUE(std::isnan(*step->Get(Quantity::kLoss)));
}

StepFormat Simple() {
  StepFormat format;
  format.fields = {{Quantity::kStep, {"step "}}, {Quantity::kSeconds, {"s="}}};
  return format;
}

TEST(StepLine, NumbersThatAreNoneAreLeftOut) {
  for (const char* line : {"step 99999999999999999999 s=1", "step -4 s=1", "step nan s=1", "step x",
                           "step ", "", "step 1e300", "step 1000000000001"}) {
    EXPECT_FALSE(ReadStepLine(Simple(), line).has_value()) << line;
  }
  for (const char* line :
       {"step 4 s=nan", "step 4 s=inf", "step 4 s=-1", "step 4 s=1e99", "step 4 s=", "step 4"}) {
    const auto step = ReadStepLine(Simple(), line);
    ASSERT_TRUE(step.has_value()) << line;
    EXPECT_EQ(step->Seconds(), std::nullopt) << line;
  }
}

TEST(StepLine, NumbersAreReadAsALibraryReadsThem) {
  for (const auto& [text, value] :
       std::vector<std::pair<std::string, double>>{{"1,024.5", 1024.5},
                                                   {"0.1", 0.1},
                                                   {"123456.789", 123456.789},
                                                   {"2.66E+00", 2.66},
                                                   {"3e-04", 3e-04},
                                                   {"311.41529524062446", 311.41529524062446},
                                                   {"7.", 7},
                                                   {"5,", 5}}) {
    const auto step = ReadStepLine(Simple(), "step 4 s=" + text);
    ASSERT_TRUE(step.has_value()) << text;
    EXPECT_EQ(step->Seconds(), value) << text;
  }
}

TEST(StepLine, FieldsAreLookedForBehindTheOneBefore) {
  const auto step = ReadStepLine(Simple(), "s=9 step 4 then s=2");
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->Seconds(), 2);
}

}  // namespace step_line_test
}  // namespace galen::triage
