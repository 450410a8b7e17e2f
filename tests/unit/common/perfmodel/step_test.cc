// Claims about tasks of several resources, collectives, and steps of transformers.
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/perfmodel/collective.h"
#include "common/perfmodel/expect.h"
#include "common/perfmodel/predict.h"
#include "common/perfmodel/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/perfmodel/world.h"

namespace galen::perfmodel {
namespace {

using ::testing::HasSubstr;

double StepOf(const std::string& more) {
  const auto time = PredictStep(SmallJob(more), SomeMachine(), SomeFactors());
  EXPECT_TRUE(time.ok()) << time.status();
  return time.ok() ? time->total : 0;
}

TEST(Task, ComputeAndMemoryTakeTurns) { EXPECT_DOUBLE_EQ(Combined({2, 3, 0}, 1), 5); }

TEST(Task, TheInterconnectHidesToTheDegreeOfTheOverlap) {
  struct Case {
    Demand demand;
    double overlap, seconds;
  };
  for (const Case& one : {Case{{2, 1, 1}, 1, 3}, Case{{2, 1, 1}, 0, 4}, Case{{2, 1, 1}, 0.5, 3.5},
                          Case{{1, 0, 5}, 1, 5}, Case{{1, 0, 5}, 7, 5}, Case{{0, 0, 5}, 1, 5}}) {
    EXPECT_DOUBLE_EQ(Combined(one.demand, one.overlap), one.seconds) << one.overlap;
    EXPECT_LE(Exposed(one.demand, one.overlap), one.demand.interconnect);
  }
}

TEST(Collectives, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(BusFactor(Collective::kAllReduce, 1), 0);
}

TEST(Collectives, WithinANodeTheLinksHoldUpAndAcrossNodesTheAdapters) {
  const auto within = BottleneckOf(SomeMachine(), Collective::kAllReduce, {8, 8});
  ASSERT_TRUE(within.ok());
  EXPECT_EQ(within->factor, "ring.nvlink");
  Machine slow = SomeMachine();
  slow.nics = 50e9;
  const auto across = BottleneckOf(slow, Collective::kAllReduce, {16, 8});
  ASSERT_TRUE(across.ok());
  EXPECT_EQ(across->factor, "net.roce");
  EXPECT_EQ(across->hops, 2);
}

TEST(Collectives, ASwitchThatAddsUpLetsTheBusBandwidthPassTheWires) {
  Machine machine = SomeMachine();
  machine.adds_in_switch = true;
  const auto across = BottleneckOf(machine, Collective::kAllReduce, {16, 8});
  ASSERT_TRUE(across.ok());
  EXPECT_EQ(across->factor, "switch.nvlink");
  const auto gathers = BottleneckOf(machine, Collective::kAllGather, {8, 8});
  EXPECT_EQ(gathers->factor, "ring.nvlink");
}

TEST(Collectives, WithoutAdaptersTrafficBetweenNodesIsUnknown) {
  Machine machine = SomeMachine();
  machine.nics = 0;
  EXPECT_THAT(
      std::string(BottleneckOf(machine, Collective::kAllReduce, {16, 8}).status().message()),
      HasSubstr("nics"));
}

TEST(Step, PartsAddUp) {
  const auto time = PredictStep(SmallJob("gpus=32,tp=4,pp=2,zero=1,recompute=full"), SomeMachine(),
                                SomeFactors());
  ASSERT_TRUE(time.ok()) << time.status();
  EXPECT_NEAR(time->compute + time->memory + time->interconnect + time->bubble, time->total, 1e-12);
  EXPECT_GT(time->bubble, 0);
  EXPECT_EQ(time->traffic.size(), time->work.traffic.size());
}

TEST(Step, OneGpuAloneNeedsAllOperationsOfTheModel) {
  const Job job = SmallJob("gpus=1");
  const StepWork work = WorkOf(job, SomeMachine());
  EXPECT_NEAR((work.flops + work.odd_flops) / FlopsPerStep(job.shape), 1, 1e-9);
  EXPECT_TRUE(work.traffic.empty());
  EXPECT_EQ(work.bubble, 0);
}

TEST(Step, OperationsDoNotDependOnTheLayout) {
  const double whole = FlopsPerStep(SmallJob("gpus=1").shape);
  for (const char* layout :
       {"gpus=8", "gpus=8,tp=8", "gpus=8,cp=4,tp=2", "gpus=32,tp=2,cp=2,zero=3"}) {
    const Job job = SmallJob(layout);
    const StepWork work = WorkOf(job, SomeMachine());
    EXPECT_NEAR((work.flops + work.odd_flops) * static_cast<double>(job.shape.gpus) / whole, 1,
                1e-9)
        << layout;
  }
}

TEST(Step, APipelineWaitsForItsBusiestStage) {
  struct Case {
    const char* fields;
    double layers;  // of 8, of the busiest stage
    bool head;
  };
  for (const Case& one :
       {Case{"vocabulary=32000,gpus=1", 8, true}, Case{"vocabulary=32000,gpus=4,pp=4", 2, true},
        Case{"vocabulary=32000,gpus=8,pp=8", 1, true},
        // 3, 3, and 2 with a head of a fourteenth of a layer
        Case{"vocabulary=1000,gpus=3,pp=3", 3, false},
        Case{"vocabulary=32000,gpus=3,pp=3", 2, true}}) {
    const auto job = ParseJob(absl::StrCat(
        "layers=8,hidden=1024,heads=16,sequence=1024,batch=64,precision=bf16,", one.fields));
    ASSERT_TRUE(job.ok()) << job.status();
    const double tokens = 3.0 * 64 * 1024;
    const double layer = tokens * LayerFlopsPerToken(job->shape);
    const double head = tokens * HeadFlopsPerToken(job->shape);
    const StepWork work = WorkOf(*job, SomeMachine());
    EXPECT_NEAR(work.flops / (one.layers * layer + (one.head ? head : 0)), 1, 1e-9) << one.fields;
    // While it fills, a micro-batch passes all other stages.
    EXPECT_NEAR(work.bubble * work.micro_batches * work.flops, 8 * layer + head - work.flops,
                1e-6 * layer)
        << one.fields;
  }
}

TEST(Step, WhatCostsMoreTakesLonger) {
  struct Case {
    const char* less;
    const char* more;
  };
  for (const Case& one : {Case{"gpus=8", "gpus=4"}, Case{"gpus=8", "gpus=8,recompute=full"},
                          Case{"gpus=8,recompute=selective", "gpus=8,recompute=full"},
                          Case{"gpus=8,flash=true", "gpus=8"}, Case{"gpus=8", "gpus=8,tp=8"},
                          Case{"gpus=8,pp=8,chunks=1,micro_batch=1", "gpus=8,pp=8,micro_batch=16"},
                          Case{"gpus=16,tp=8", "gpus=16,tp=16"},
                          Case{"gpus=8,experts=8,active=1,ep=1,flash=true",
                               "gpus=8,experts=8,active=2,ep=8,flash=true"}}) {
    EXPECT_LT(StepOf(one.less), StepOf(one.more)) << one.less << " against " << one.more;
  }
}

TEST(Step, APipelineWaitsForItsMicroBatches) {
  const double bubble = WorkOf(SmallJob("gpus=4,pp=4"), SomeMachine()).bubble;
  // The other stages have less to do than the busiest.
  EXPECT_LT(bubble, 3.0 / 64);
  EXPECT_GT(bubble, 1.0 / 64);
  EXPECT_DOUBLE_EQ(WorkOf(SmallJob("gpus=4,pp=4,chunks=2"), SomeMachine()).bubble, bubble / 2);
}

TEST(Step, HeadsThatDoNotSuitTheUnitsCostMore) {
  const auto odd = ParseJob(
      "layers=8,hidden=1160,heads=8,vocabulary=32000,sequence=1024,batch=64,precision=bf16,gpus=8,"
      "tp=4");
  ASSERT_TRUE(odd.ok());
  EXPECT_GT(WorkOf(*odd, SomeMachine()).odd_flops, 0);  // 1160 / 4 = 290, no multiple of 8
  EXPECT_EQ(WorkOf(SmallJob("gpus=8,tp=4"), SomeMachine()).odd_flops, 0);
}

// Recomputed scores are the same work, on the same units.
TEST(Step, ScoresThatAreComputedAgainCountWhereTheyDidAtFirst) {
  for (const char* heads : {"head_size=64", "head_size=60"}) {
    const StepWork once = WorkOf(SmallJob(absl::StrCat("gpus=8,", heads)), SomeMachine());
    const StepWork again =
        WorkOf(SmallJob(absl::StrCat("gpus=8,recompute=selective,", heads)), SomeMachine());
    const bool odd = once.odd_flops > 0;
    EXPECT_EQ(odd, absl::string_view(heads) == "head_size=60");
    EXPECT_EQ(again.flops > once.flops, !odd) << heads;
    EXPECT_EQ(again.odd_flops > once.odd_flops, odd) << heads;
  }
}

TEST(Step, BytesAreThoseOfThePrecision) {
  const auto with = [](const char* precision) {
    auto job = ParseJob(
        absl::StrCat("layers=8,hidden=1024,heads=16,vocabulary=32000,sequence=1024,batch=64,"
                     "gpus=16,tp=2,cp=2,pp=2,flash=true,precision=",
                     precision));
    EXPECT_TRUE(job.ok()) << job.status();
    return WorkOf(*job, SomeMachine());
  };
  const StepWork half = with("bf16");
  struct Case {
    const char* precision;
    double times;
  };
  for (const Case& one :
       {Case{"fp16", 1}, Case{"fp8", 1}, Case{"fp32", 2}, Case{"tf32", 2}, Case{"fp64", 4}}) {
    const StepWork work = with(one.precision);
    ASSERT_EQ(work.traffic.size(), half.traffic.size());
    for (std::size_t i = 0; i < work.traffic.size(); ++i) {
      EXPECT_DOUBLE_EQ(work.traffic[i].bytes, one.times * half.traffic[i].bytes)
          << one.precision << " " << work.traffic[i].what;
    }
    if (one.times == 1) {
      EXPECT_DOUBLE_EQ(work.bytes, half.bytes) << one.precision;
    } else {
      // Adam's state and masks of dropout grow less.
      EXPECT_GT(work.bytes, 0.9 * one.times * half.bytes) << one.precision;
      EXPECT_LT(work.bytes, one.times * half.bytes) << one.precision;
    }
  }
}

TEST(Step, RowsOfSixteenBytesSuitTheUnits) {
  // A row of 8 values has 8, 16 or 32 bytes.
  const auto odd = [](const char* precision, int hidden) {
    const auto job = ParseJob(
        absl::StrCat("layers=8,hidden=", hidden, ",heads=4,head_size=", hidden / 4,
                     ",vocabulary=32000,sequence=1024,batch=64,gpus=8,tp=4,precision=", precision));
    EXPECT_TRUE(job.ok()) << job.status();
    return WorkOf(*job, SomeMachine()).odd_flops > 0;
  };
  EXPECT_FALSE(odd("bf16", 32));
  EXPECT_TRUE(odd("fp8", 32));
  EXPECT_FALSE(odd("fp8", 64));
  EXPECT_TRUE(odd("bf16", 16));
  EXPECT_FALSE(odd("tf32", 16));
}

TEST(Step, MicroBatchesAreThoseOfTheLayout) {
  const Job job = SmallJob("gpus=8,tp=2,micro_batch=4");
  EXPECT_EQ(job.layout.MicroBatches(job.shape), 4);
  EXPECT_EQ(WorkOf(job, SomeMachine()).micro_batches, 4);
}

TEST(Step, NothingIsPredictedOfWhatIsUnknown) {
  Machine machine = SomeMachine();
  machine.peaks.clear();
  EXPECT_THAT(
      std::string(PredictStep(SmallJob("gpus=1"), machine, SomeFactors()).status().message()),
      HasSubstr("peak_bf16_tflops"));
  EXPECT_THAT(std::string(PredictStep(SmallJob("gpus=1"), SomeMachine(), {}).status().message()),
              HasSubstr("factor compute.nvidia.16bit"));
}

TEST(Job, ALayoutThatCannotBeIsRefusedByName) {
  struct Case {
    const char* fields;
    const char* message;
  };
  for (const Case& one :
       {Case{"", "gpus: is missing"}, Case{"gpus=8,tp=16", "more than gpus"},
        Case{"gpus=8,tp=3", "does not divide"}, Case{"gpus=6", "is not a multiple"},
        Case{"gpus=8,micro_batch=3", "is not a multiple"}, Case{"gpus=16,pp=16", "more stages"},
        Case{"gpus=8,ep=2", "experts"}, Case{"gpus=8,zero=4", "zero=4"},
        Case{"gpus=8,recompute=some", "none, selective or full"}, Case{"gpus=8,tp=0", "tp=0"},
        Case{"gpus=8,flash=maybe", "flash"}, Case{"gpus=8,tp=2,tp=4", "tp: is set twice"},
        Case{"gpus=8,zero=1,zero=1", "zero: is set twice"},
        Case{"gpus=8,layers=9", "layers: is set twice"},
        Case{"gpus=1099511627776,tp=1048576,pp=1048576,cp=1048576", "more than gpus"}}) {
    const auto job = ParseJob(std::string(kSmall) + one.fields);
    ASSERT_FALSE(job.ok()) << one.fields;
    EXPECT_THAT(std::string(job.status().message()), HasSubstr(one.message)) << one.fields;
  }
}

TEST(Expectation, AMeasuredStepStandsToItsInterval) {
  Calibration calibration;
  calibration.factors = SomeFactors();
  calibration.misses["step"] = {0.02, 0.05, 0.1};
  const auto expected = Expect(SmallJob("gpus=8"), SomeMachine(), calibration, 0.75);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_DOUBLE_EQ(expected->step.confidence, 0.75);
  EXPECT_NEAR(expected->step.high / expected->step.expected, std::exp(0.1), 1e-9);
  EXPECT_EQ(StandingOf(expected->step, expected->parts.total), Standing::kAsExpected);
  EXPECT_EQ(StandingOf(expected->step, 3 * expected->parts.total), Standing::kAbove);
  EXPECT_EQ(StandingOf(expected->throughput, expected->throughput.low / 3), Standing::kBelow);
  EXPECT_EQ(StandingOf(expected->step, 0), Standing::kUnknown);
  EXPECT_EQ(StandingOf(expected->step, std::nan("")), Standing::kUnknown);
  EXPECT_FALSE(expected->power.has_value());  // not calibrated
  calibration.factors.Set("power", 0.8);
  const auto with_power = Expect(SmallJob("gpus=8"), SomeMachine(), calibration);
  ASSERT_TRUE(with_power.ok() && with_power->power.has_value());
  EXPECT_DOUBLE_EQ(with_power->power->expected, 560);
  // Boards that used more than their data sheet allows: the interval still contains the expected
  // value.
  calibration.factors.Set("power", 1.05);
  const auto above = Expect(SmallJob("gpus=8"), SomeMachine(), calibration);
  ASSERT_TRUE(above.ok() && above->power.has_value());
  EXPECT_DOUBLE_EQ(above->power->expected, 735);
  EXPECT_GE(above->power->high, above->power->expected);
}

}  // namespace
}  // namespace galen::perfmodel
