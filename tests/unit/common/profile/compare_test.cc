// Claims about where the difference of two jobs' step times comes from.
#include "common/profile/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace compare_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JobProfile JobOf(const std::vector<std::string>& traces) {
  JobProfile job;
  for (const std::string& trace : traces) {
    auto read = ReadTrace(InPieces(trace, 1 << 20), Shipped());
    if (!read.ok()) std::abort();
    job.traces.push_back(Analyse(*std::move(read), Shipped(), {.kernels = kComparedKernels}));
  }
  return job;
}

// A step of `wall` us with a matrix product, and a collective behind it.
std::string StepOf(double wall, double gemm, double reduce) {
  return TraceText({StepMark(1, 0, wall), Host("cpu_op", 0, 1),
                    Kernel("ampere_sgemm_128x64_nn", 0, 7, 0, gemm),
                    Kernel("ncclDevKernel_AllReduce", 0, 9, gemm, gemm + reduce)});
}

TEST(Compare, PartsAddUpToTheStepAndTheLargestIsFirst) {
  const Difference difference = Compare(JobOf({StepOf(130, 50, 60)}), JobOf({StepOf(100, 50, 20)}));
  EXPECT_NEAR(difference.step.here, 130e-6, 1e-12);
  EXPECT_NEAR(difference.step.against, 100e-6, 1e-12);
  EXPECT_EQ(difference.parts[0].name, "exposed_communication");
  EXPECT_NEAR(difference.parts[0].time.Difference(), 40e-6, 1e-12);
  EXPECT_EQ(difference.parts[1].name, "idle");
  EXPECT_NEAR(difference.parts[1].time.Difference(), -10e-6, 1e-12);
  double sum = 0;
  for (const PartDifference& part : difference.parts) sum += part.time.Difference();
  EXPECT_NEAR(sum, difference.step.Difference(), 1e-12);
  EXPECT_EQ(Shipped().all()[difference.families[0].family].name, "collectives");
  EXPECT_EQ(difference.operators[0].name, "ncclDevKernel_AllReduce");
  EXPECT_NEAR(difference.operators[0].MeanHere(), 60e-6, 1e-12);
  EXPECT_THAT(difference.notes, IsEmpty());
}

TEST(Compare, AnOperatorOfOnlyOneIsNewOrGone) {
  const std::string other = TraceText({StepMark(1, 0, 100), Kernel("nvjet_hsh_128", 0, 7, 0, 30),
                                       Kernel("nvjet_hsh_128", 0, 7, 40, 60)});
  const Difference difference = Compare(JobOf({other}), JobOf({StepOf(100, 50, 20)}));
  EXPECT_EQ(difference.operators[0].calls.against + difference.operators[1].calls.against, 1);
  for (const OperatorDifference& one : difference.operators) {
    if (one.name != "nvjet_hsh_128") continue;
    EXPECT_EQ(one.calls.here, 2);
    EXPECT_EQ(one.calls.against, 0);
    EXPECT_NEAR(one.MeanHere(), 25e-6, 1e-12);
  }
  // Both are matrix products: the family shows that the work is the same.
  for (const FamilyDifference& family : difference.families) {
    if (Shipped().all()[family.family].name != "gemm") continue;
    EXPECT_NEAR(family.time.Difference(), 0, 1e-12);
  }
}

TEST(Compare, JobsOfAnotherSizeAreComparedByMeans) {
  const Difference difference =
      Compare(JobOf({StepOf(100, 50, 20), StepOf(140, 90, 20)}), JobOf({StepOf(120, 70, 20)}));
  EXPECT_NEAR(difference.step.Difference(), 0, 1e-12);
  EXPECT_NEAR(difference.parts[0].time.Difference(), 0, 1e-12);
  EXPECT_THAT(difference.notes, ElementsAre(HasSubstr("2 GPUs beside 1")));
}

TEST(Compare, TracesWithoutMarksSaySo) {
  const std::string unmarked = TraceText({Kernel("ampere_sgemm_128x64_nn", 0, 7, 0, 50)});
  EXPECT_THAT(Compare(JobOf({unmarked}), JobOf({unmarked})).notes,
              ElementsAre(HasSubstr("neither marks steps")));
  EXPECT_THAT(Compare(JobOf({unmarked}), JobOf({StepOf(100, 50, 20)})).notes,
              ElementsAre(HasSubstr("only one of the two marks steps")));
  EXPECT_FALSE(IsComparable(JobOf({TraceText({StepMark(1, 0, 9)})})));
}

}  // namespace compare_test
}  // namespace galen::profile
