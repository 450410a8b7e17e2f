// Claims about the picture.
#include <string>
#include <utility>
#include <vector>

#include "common/profile/picture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "re2/re2.h"
#include "tests/unit/common/profile/profile_testing.h"

namespace galen::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JobProfile Job(int ranks) {
  JobProfile job;
  for (int rank = 0; rank < ranks; ++rank) {
    job.traces.push_back(ReportOf(TraceText(
        {StepMark(1, 0, 100), Host("cpu_op", 0, 20), Kernel("ampere_sgemm_<&>", 0, 7, 10, 50),
         Kernel("ncclDevKernel_AllReduce", 0, 9, 40, 80)},
        absl::StrCat(R"("distributedInfo":{"rank":)", rank, "},"))));
  }
  job.ranks = CompareRanks(job.traces);
  return job;
}

TEST(Picture, SaysInWordsWhatItsColoursSay) {
  const std::string svg = Picture(Job(2));
  for (const char* text : {"compute", "communication not covered", "waiting for the host", "idle",
                           "rank 0", "rank 1", "40 %", "30 %", "stream 7", "stream 9",
                           "overlap 25 %", "ProfilerStep#1", "prefers-color-scheme:dark"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

// Boxes and rows do not overlap: each row of texts has its own place.
TEST(Picture, RowsDoNotOverlap) {
  const std::string svg = Picture(Job(5));
  static const RE2 name(R"re(<text class="t" x="16\.0" y="([\d.]+)")re");
  re2::StringPiece rest(svg);
  double y = 0;
  double last = 0;
  int rows = 0;
  while (RE2::FindAndConsume(&rest, name, &y)) {
    EXPECT_GE(y - last, 20) << "row " << rows;
    last = y;
    ++rows;
  }
  EXPECT_EQ(rows, 2 + 5 + 3);  // titles, ranks, host and two streams
  double height = 0;
  ASSERT_TRUE(RE2::PartialMatch(svg, R"re(height="(\d+)")re", &height));
  EXPECT_LT(last, height);
}

TEST(Picture, HoldsNothingOfATraceThatIsMarkup) {
  JobProfile job = Job(1);
  job.ranks.ranks[0].who = "<script>alert(\"x\")</script>";
  EXPECT_THAT(Picture(job), Not(HasSubstr("<script>")));
}

TEST(Picture, WithoutAGpuThereIsNone) { EXPECT_EQ(Picture(JobProfile()), ""); }

}  // namespace
}  // namespace galen::profile
