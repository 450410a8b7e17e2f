// Claims about the lines that W&B and MLflow write.
#include "common/run_records/metric_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/common/run_records/run_records_testing.h"

namespace galen::run_records {
namespace metric_lines_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WandbLines, HistoryAndSummaryAreRead) {
  const std::string history =
      "{\"train/loss\":2.5,\"_runtime\":3,\"_timestamp\":1700000000.5,\"_step\":4,\"x\":\"text\"}\n"
      "{\"train/loss\":\"NaN\",\"eval\":{\"loss\":3},\"_timestamp\":1700000009,\"_step\":5}\n\n"
      "no JSON\n";
  EXPECT_EQ(FormOf(history), Form::kWandbLines);
  std::vector<std::string> notes;
  EXPECT_EQ(
      ReadAs(Form::kWandbLines, "wandb/offline-run-20260102_030405-abc/files/wandb-history.jsonl",
             history, 9, &notes),
      "abc eval.loss: 1700000009000/5=3\n"
      "abc train/loss: 1700000000500/4=2.5 1700000009000/5=nan\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("1 lines are left out")));
  // The record of anybody's program.
  EXPECT_EQ(FormOf("{\"step\": 1, \"loss\": 2.5}\n"), Form::kNone);
}

TEST(WandbLines, DeepOrLongLinesAreLeftOut) {
  const std::string deep = absl::StrCat("{\"_timestamp\":1700000000,\"a\":", std::string(5000, '['),
                                        std::string(5000, ']'), "}\n");
  const std::string lengthy =
      absl::StrCat("{\"_timestamp\":1700000000,\"a\":\"", std::string(2 << 20, 'x'), "\"}\n");
  std::vector<std::string> notes;
  EXPECT_EQ(
      ReadAs(Form::kWandbLines, "f",
             absl::StrCat(deep, lengthy, "{\"b\":1,\"_timestamp\":1700000000}\n"), 1 << 16, &notes),
      "f b: 1700000000000/-1=1\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("2 lines are left out")));
}

TEST(MlflowLines, AMetricIsNamedByItsPlaceInTheStore) {
  const std::string lines =
      "1700000000123 2.5 0\n1700000010123 nan 10\n1700000020123 1.25e-05 20\n";
  EXPECT_EQ(FormOf(lines), Form::kMlflowLines);
  std::vector<std::string> notes;
  EXPECT_EQ(
      ReadAs(Form::kMlflowLines, "mlruns/0/8f1c/metrics/train/loss", lines + "cut of", 11, &notes),
      "8f1c train/loss: 1700000000123/0=2.5 1700000010123/10=nan "
      "1700000020123/20=1.25e-05\n");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("1 damaged lines are left out")));
}

TEST(MlflowLines, OtherTablesAreNotTaken) {
  for (const char* const text :
       {"", "\n", "1700000000 2.5 0\n", "1700000000123 2.5\n", "1700000000123 2.5 0 1\n",
        "1700000000123 2.5 0\nstep 3\n", "2026-01-02 03:04:05 2.5\n"}) {
    EXPECT_EQ(FormOf(text), Form::kNone) << text;
  }
  // The beginning of a long file decides.
  std::string lines;
  while (lines.size() < 5000) lines += "1700000000123 2.5 0\n";
  EXPECT_EQ(FormOf(lines), Form::kMlflowLines);
}

}  // namespace metric_lines_test
}  // namespace galen::run_records
