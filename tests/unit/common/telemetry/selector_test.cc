// The series that a selector chooses.
#include "common/telemetry/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace galen::telemetry {
namespace {

using galen::testing::IsOk;
using galen::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

const Labels kGpu = {{kMetricName, "DCGM_FI_DEV_GPU_TEMP"}, {"gpu", "3"}, {"instance", "n1:9400"}};

bool Chooses(const std::string& text) {
  const auto selector = Selector::Parse(text);
  EXPECT_THAT(selector, IsOk()) << text;
  return selector.ok() && selector->Matches(kGpu);
}

TEST(SelectorTest, ChoosesByNameAndLabels) {
  EXPECT_TRUE(Chooses("DCGM_FI_DEV_GPU_TEMP"));
  EXPECT_FALSE(Chooses("DCGM_FI_DEV_GPU"));
  EXPECT_TRUE(Chooses(" DCGM_FI_DEV_GPU_TEMP { gpu = \"3\" , instance!='n2:9400', } "));
  EXPECT_TRUE(Chooses("{__name__=~\"DCGM_.*\",gpu=~\"1|3\"}"));
  EXPECT_FALSE(Chooses("{__name__=~\"DCGM\"}"));  // patterns match whole values
  EXPECT_FALSE(Chooses("{gpu!~\"[0-9]\"}"));
  EXPECT_TRUE(Chooses("{gpu=\"3\",rank=\"\"}"));  // a missing label is empty
  EXPECT_FALSE(Chooses("{rank=~\".+\"}"));
}

TEST(SelectorTest, KnowsEscapes) {
  const auto selector = Selector::Parse("m{a=\"x\\\"y\\\\z\\n\"}");
  ASSERT_THAT(selector, IsOk());
  EXPECT_TRUE(selector->Matches({{kMetricName, "m"}, {"a", "x\"y\\z\n"}}));
  EXPECT_EQ(Quote("x\"y\\z\n"), "\"x\\\"y\\\\z\\n\"");
}

TEST(SelectorTest, SaysWhatIsWrong) {
  for (const char* text : {"", "{", "{}", "m{", "m{a}", "m{a=b}", "m{a=\"b}", "m{a=\"b\" c=\"d\"}",
                           "m{=\"b\"}", "m{a=~\"(\"}", "5"}) {
    EXPECT_THAT(Selector::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("selector")))
        << text;
  }
  EXPECT_THAT(Selector::Parse(std::string(10'000, 'a')),
              StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST(SelectorTest, AnExpressionIsNotAnsweredWrongly) {
  for (const char* text : {"rate(m[5m])", "m[5m]", "m offset 5m", "m + n", "sum by (gpu) (m)"}) {
    EXPECT_THAT(Selector::Parse(text),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("only selectors")))
        << text;
  }
}

}  // namespace
}  // namespace galen::telemetry
