#include "bench/eval/report/progress_bar.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/terminal.h"

namespace galen::eval {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ProgressLine, SaysHowFarItIsAndHowLongItTakes) {
  const std::string line = ProgressLine({"tiered", 30, 10, 110, 25, absl::Seconds(40)}, 120);
  EXPECT_THAT(line, HasSubstr("tiered"));
  EXPECT_THAT(line, HasSubstr("30/110, 25 right"));
  // Twenty were run in 40 s, eighty are left.
  EXPECT_THAT(line, HasSubstr("2m40s left"));
}

TEST(ProgressLine, PromisesNothingBeforeACaseWasRun) {
  EXPECT_THAT(ProgressLine({"tiered", 10, 10, 110, 9, absl::Seconds(1)}, 120),
              Not(HasSubstr("left")));
  EXPECT_THAT(ProgressLine({"tiered", 0, 0, 0, 0, absl::Seconds(0)}, 120), HasSubstr("0/0"));
}

TEST(ProgressLine, FitsTheTerminal) {
  for (const int width : {1, 20, 60, 200}) {
    EXPECT_LE(cli::Columns(ProgressLine({"tiered", 5, 0, 10, 1, absl::Seconds(9)}, width)),
              static_cast<std::size_t>(width));
  }
}

}  // namespace
}  // namespace galen::eval
