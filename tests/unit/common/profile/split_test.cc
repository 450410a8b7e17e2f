// Claims about how a step is split, on traces small enough to be split by hand.
#include <string>
#include <vector>

#include "common/profile/intervals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kGemm[] = "ampere_sgemm_128x64_nn";
constexpr char kReduce[] =
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)";

struct SplitCase {
  const char* what;
  std::vector<std::string> events;
  const char* parts;  // wall compute exposed memory host idle
  std::int64_t communication;
  std::int64_t kernels;
};

TEST(Split, EachPartIsWhatItIsByHand) {
  const std::string step = StepMark(1, 0, 100);
  const SplitCase cases[] = {
      {"nothing but compute", {step, Kernel(kGemm, 0, 7, 0, 100)}, "100 100 0 0 0 0", 0, 100},
      {"communication alone", {step, Kernel(kReduce, 0, 9, 0, 40)}, "100 0 40 0 0 60", 40, 40},
      {"communication within compute",
       {step, Kernel(kGemm, 0, 7, 0, 50), Kernel(kReduce, 0, 9, 10, 40)},
       "100 50 0 0 0 50",
       30,
       80},
      {"compute within communication",
       {step, Kernel(kReduce, 0, 9, 10, 90), Kernel(kGemm, 0, 7, 30, 50)},
       "100 20 60 0 0 20",
       80,
       100},
      {"communication that begins before compute and ends in it",
       {step, Kernel(kReduce, 0, 9, 10, 30), Kernel(kGemm, 0, 7, 20, 60)},
       "100 40 10 0 0 50",
       20,
       60},
      {"they touch and do not overlap",
       {step, Kernel(kReduce, 0, 9, 10, 30), Kernel(kGemm, 0, 7, 30, 60)},
       "100 30 20 0 0 50",
       20,
       50},
      {"two communications at once count once",
       {step, Kernel(kReduce, 0, 9, 10, 40), Kernel(kReduce, 0, 11, 20, 50)},
       "100 0 40 0 0 60",
       40,
       60},
      {"kernels within a kernel of the same stream, as graphs have them",
       {step, Kernel(kGemm, 0, 7, 0, 60), Kernel(kGemm, 0, 7, 10, 20), Kernel(kGemm, 0, 7, 30, 70)},
       "100 70 0 0 0 30",
       0,
       110},
      {"a copy counts where nothing else runs",
       {step, Kernel(kGemm, 0, 7, 0, 20), Kernel("Memcpy HtoD (Pinned -> Device)", 0, 8, 10, 60),
        Kernel(kReduce, 0, 9, 50, 80)},
       "100 20 30 30 0 20",
       30,
       100},
      {"a GPU that waits for launches",
       {step, Host("cuda_runtime", 0, 30), Kernel(kGemm, 0, 7, 20, 60), Host("cpu_op", 70, 90)},
       "100 40 0 0 40 20",
       0,
       40},
      {"what lies outside of the step does not count",
       {step, Kernel(kGemm, 0, 7, -50, 20), Kernel(kGemm, 0, 7, 90, 150)},
       "100 30 0 0 0 70",
       0,
       30},
      {"a kernel without a duration", {step, Kernel(kGemm, 0, 7, 10, 10)}, "100 0 0 0 0 100", 0, 0},
  };
  for (const SplitCase& one : cases) {
    // However the text is cut.
    for (const std::size_t piece : {std::size_t{1} << 20, std::size_t{3}}) {
      const TraceReport report = ReportOf(TraceText(one.events), piece);
      ASSERT_EQ(report.devices.size(), 1u) << one.what;
      const DeviceReport& device = report.devices[0];
      EXPECT_EQ(Parts(device.total), one.parts) << one.what;
      EXPECT_EQ(device.total.communication, one.communication * 1000) << one.what;
      EXPECT_EQ(device.total.kernels, one.kernels * 1000) << one.what;
      EXPECT_TRUE(device.marked) << one.what;
      const Split& split = device.total;
      EXPECT_EQ(split.compute + split.exposed + split.memory + split.host + split.idle, split.wall);
    }
  }
}

TEST(Split, TwoGpusOfOneTraceAreTwo) {
  const TraceReport report =
      ReportOf(TraceText({StepMark(1, 0, 100), Kernel(kGemm, 0, 7, 0, 10),
                          Kernel(kGemm, 1, 7, 0, 70), Kernel(kReduce, 1, 9, 60, 80)}));
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].name, "GPU 0");
  EXPECT_EQ(Parts(report.devices[0].total), "100 10 0 0 0 90");
  EXPECT_EQ(report.devices[1].name, "GPU 1");
  EXPECT_EQ(Parts(report.devices[1].total), "100 70 10 0 0 20");
}

TEST(Split, EachStepIsSplit) {
  const TraceReport report = ReportOf(
      TraceText({StepMark(8, 200, 300), StepMark(7, 100, 200), Kernel(kGemm, 0, 7, 150, 260)}));
  ASSERT_EQ(report.devices[0].steps.size(), 2u);
  EXPECT_EQ(report.devices[0].steps[0].name, "ProfilerStep#7");
  EXPECT_EQ(Parts(report.devices[0].steps[0].split), "100 50 0 0 0 50");
  EXPECT_EQ(Parts(report.devices[0].steps[1].split), "100 60 0 0 0 40");
  EXPECT_EQ(Parts(report.devices[0].total), "200 110 0 0 0 90");
  EXPECT_EQ(report.devices[0].kernels[0].count, 1);
  EXPECT_EQ(report.devices[0].outside, 0);
}

TEST(Split, WithoutMarksItIsFromTheFirstOperationToTheLast) {
  const TraceReport report =
      ReportOf(TraceText({Kernel(kGemm, 0, 7, 40, 50), Kernel(kReduce, 0, 9, 60, 90)}));
  EXPECT_FALSE(report.devices[0].marked);
  EXPECT_EQ(Parts(report.devices[0].total), "50 10 30 0 0 10");
}

TEST(Split, WorkOutsideOfTheStepsIsToldAndNotCounted) {
  const TraceReport report =
      ReportOf(TraceText({StepMark(1, 0, 100), Kernel(kGemm, 0, 7, 90, 150)}));
  EXPECT_EQ(report.devices[0].outside, 50'000);
}

TEST(Split, StampsOfTheEpochKeepTheirNanoseconds) {
  const std::string text = TraceText(
      {R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1682725898079484.125,"dur":0.001,"args":{"device":0,"stream":7}})",
       R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":1682725898079484.130,"dur":0.002,"args":{"device":0,"stream":7}})"});
  const TraceReport report = ReportOf(text);
  EXPECT_EQ(report.devices[0].total.wall, 7);
  EXPECT_EQ(report.devices[0].total.compute, 3);
}

TEST(Split, ATraceThatIsTruncatedOffIsReadAsFarAsItGoes) {
  const std::string whole =
      TraceText({StepMark(1, 0, 100), Kernel(kGemm, 0, 7, 0, 30), Kernel(kGemm, 0, 7, 50, 60)});
  const TraceReport report = ReportOf(whole.substr(0, whole.size() - 20));
  EXPECT_EQ(Parts(report.devices[0].total), "100 30 0 0 0 70");
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("after 2 events")));
  // Cut at any byte, it is read or refused.
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto trace = ReadTrace(InPieces(absl::string_view(whole).substr(0, size), 64), Shipped());
    if (trace.ok()) {
      EXPECT_FALSE(trace->remarks.empty()) << size;
    }
  }
}

TEST(Split, EventsWithoutATimeAreLeftOutAndTold) {
  const TraceReport report = ReportOf(TraceText(
      {StepMark(1, 0, 100), Kernel(kGemm, 0, 7, 0, 30),
       R"({"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":"soon","dur":5})",
       R"({"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":1,"dur":-5})",
       R"({"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":1e300,"dur":5})", "17"}));
  EXPECT_EQ(Parts(report.devices[0].total), "100 30 0 0 0 70");
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("4 events")));
}

TEST(Split, ATraceOfTheHostAloneSaysSo) {
  const TraceReport report = ReportOf(TraceText({StepMark(1, 0, 100), Host("cpu_op", 0, 50)}));
  EXPECT_THAT(report.devices, IsEmpty());
  EXPECT_THAT(report.remarks, ElementsAre(HasSubstr("no operation of a GPU")));
}

TEST(Split, WhatIsNoTraceIsRefused) {
  for (const char* text :
       {"", "{}", "{\"a\":1}", "7", "{\"traceEvents\":7}", "hello", "{\"traceEvents\""}) {
    EXPECT_FALSE(ReadTrace(InPieces(text, 100), Shipped()).ok()) << text;
  }
}

TEST(Split, LimitsAreKeptAndTold) {
  std::vector<std::string> events = {StepMark(1, 0, 1000)};
  for (int i = 0; i < 50; ++i) events.push_back(Kernel(kGemm, 0, 7, 10 * i, 10 * i + 5));
  ReadLimits limits;
  limits.spans = 20;
  const std::string text = TraceText(events);
  const auto trace = ReadTrace(InPieces(text, 1000), Shipped(), limits);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->devices[0].streams[0].spans.size(), 20u);
  EXPECT_THAT(trace->remarks, ElementsAre(HasSubstr("30 operations of GPUs are left out")));
}

// As JAX writes it: names first, then what ran, without a category.
std::string Xla(const std::vector<std::pair<int, std::string>>& lines,
                const std::vector<std::string>& events) {
  std::vector<std::string> all = {
      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}})",
      R"({"ph":"M","pid":7,"name":"process_name","args":{"name":"/host:CPU"}})"};
  for (const auto& [thread, name] : lines) {
    all.push_back(absl::StrCat(R"({"ph":"M","pid":1,"tid":)", thread,
                               R"(,"name":"thread_name","args":{"name":")", name, "\"}}"));
  }
  all.insert(all.end(), events.begin(), events.end());
  return TraceText(all, R"("displayTimeUnit":"ns",)");
}
std::string Ran(int process, int thread, absl::string_view name, double begin, double end) {
  return absl::StrCat(R"({"ph":"X","pid":)", process, R"(,"tid":)", thread, R"(,"ts":)", begin,
                      R"(,"dur":)", end - begin, R"(,"name":")", name, "\"}");
}

TEST(Split, OfInstructionsOfXlaTheInnermostCounts) {
  const TraceReport report = ReportOf(
      Xla({{1, "Steps"}, {2, "XLA Modules"}, {3, "XLA Ops"}},
          {Ran(1, 1, "12", 0, 100), Ran(1, 2, "jit_step(1)", 0, 90), Ran(1, 3, "while.3", 0, 80),
           Ran(1, 3, "fusion.7", 10, 30), Ran(1, 3, "all-reduce.5", 30, 70),
           Ran(7, 5, "PjitFunction(step)", 85, 95), Ran(7, 5, "train", 0, 100)}));
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_TRUE(report.xla);
  EXPECT_EQ(report.devices[0].marks, "Steps");
  // While itself has 0 to 10 and 70 to 80.
  EXPECT_EQ(Parts(report.devices[0].total), "100 40 40 0 10 10");
}

TEST(Split, WhereXlaTellsStreamsItsInstructionsDoNotCountAgain) {
  const TraceReport report = ReportOf(
      Xla({{1, "XLA Modules"}, {3, "XLA Ops"}, {4, "Stream #14(Compute)"}, {5, "Stream #20(NCCL)"}},
          {Ran(1, 1, "jit_init(1)", 0, 10), Ran(1, 1, "jit_step(2)", 100, 150),
           Ran(1, 1, "jit_step(2)", 200, 250), Ran(1, 3, "fusion.7", 110, 150),
           Ran(1, 4, "loop_add_fusion", 110, 130), Ran(1, 5, kReduce, 120, 150),
           Ran(1, 4, "gemm_fusion_dot_2", 200, 250)}));
  EXPECT_EQ(report.devices[0].marks, "jit_step(2)");
  EXPECT_EQ(Parts(report.devices[0].total), "100 70 20 0 0 10");
}

TEST(Intervals, AreUnitedCutAndTakenAway) {
  const Intervals a = Union({{5, 9}, {0, 2}, {2, 3}, {8, 12}, {20, 20}});
  EXPECT_THAT(a, ElementsAre(Interval{0, 3}, Interval{5, 12}));
  const Intervals b = {{1, 6}, {8, 9}, {11, 30}};
  EXPECT_THAT(Intersect(a, b),
              ElementsAre(Interval{1, 3}, Interval{5, 6}, Interval{8, 9}, Interval{11, 12}));
  EXPECT_THAT(Subtract(a, b), ElementsAre(Interval{0, 1}, Interval{6, 8}, Interval{9, 11}));
  EXPECT_THAT(Clip(a, {2, 6}), ElementsAre(Interval{2, 3}, Interval{5, 6}));
  EXPECT_EQ(Length(a), 10);
}

}  // namespace
}  // namespace galen::profile
