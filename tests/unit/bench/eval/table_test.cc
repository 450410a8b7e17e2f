#include "bench/eval/report/table.h"

#include "bench/eval/report/tables.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TableText, PutsColumnsInLine) {
  Table table;
  table.title = "Title";
  table.headings = {"name", "n"};
  table.rows = {{"a", "1000"}, {"größer", "2"}};
  table.note = "A note.";
  EXPECT_EQ(TableText(table),
            "Title\n"
            "  name       n\n"
            "  a       1000\n"
            "  größer     2\n"
            "  A note.\n");
}

TEST(TableHtml, EscapesWhatStandsInIt) {
  Table table;
  table.title = "a & b";
  table.headings = {"<h>"};
  table.rows = {{"<script>\"'</script>"}};
  const std::string html = TableHtml(table);
  EXPECT_THAT(html, HasSubstr("a &amp; b"));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;&quot;&#39;&lt;/script&gt;"));
  EXPECT_EQ(html.find("<script>"), std::string::npos);
}

v1::Scores RunOf(const std::string& strategy, const std::string& mode, double seconds) {
  v1::Scores run;
  run.set_strategy(strategy);
  run.set_mode(mode);
  run.mutable_costs()->set_verification_seconds(seconds);
  return run;
}

TEST(CostTable, ComparesWithExhaustiveOfTheSameMode) {
  v1::Report report;
  *report.add_runs() = RunOf("tiered", "plain", 2);
  *report.add_runs() = RunOf("exhaustive", "plain", 10);
  *report.add_runs() = RunOf("tiered", "withheld", 2);
  const Table table = CostTable(report);
  EXPECT_EQ(table.rows[0][5], "0.20");
  EXPECT_EQ(table.rows[1][5], "1.00");
  EXPECT_EQ(table.rows[2][0], "tiered, withheld");
  EXPECT_EQ(table.rows[2][5], "-");
}

TEST(AccuracyTable, SaysWhatIsLeftOfTheErrorOfTheBestOther) {
  v1::Report report;
  const auto add = [&](const char* strategy, double micro_f1) {
    *report.add_runs() = RunOf(strategy, "plain", 0);
    report.mutable_runs(report.runs_size() - 1)->mutable_all()->set_micro_f1(micro_f1);
  };
  add("tiered", 0.95);
  EXPECT_EQ(AccuracyTable(report).note, "");
  add("history", 0.2);
  add("exhaustive", 0.8);
  EXPECT_THAT(AccuracyTable(report).note, HasSubstr("0.25 of that of the best other (exhaustive)"));
}

TEST(UnseenTable, HasARowWhereBothModesRan) {
  v1::Report report;
  *report.add_runs() = RunOf("tiered", "plain", 0);
  report.mutable_runs(0)->mutable_all()->set_micro_f1(0.9);
  EXPECT_TRUE(UnseenTable(report).rows.empty());
  *report.add_runs() = RunOf("tiered", "unseen", 0);
  report.mutable_runs(1)->mutable_all()->set_micro_f1(0.8);
  const Table table = UnseenTable(report);
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_THAT(table.rows[0], ElementsAre("tiered", "0.900", "0.800", "-", "-"));
}

TEST(Tables, EveryRowHasACellForEachHeading) {
  v1::Report report;
  for (const char* mode : {"plain", "unseen"}) {
    v1::Scores& run = *report.add_runs();
    run = RunOf("tiered", mode, 1);
    run.add_categories()->set_main("GPU");
    run.add_pipelines()->set_origin("HISTORY");
    run.add_naming()->set_corpus("dev");
    run.mutable_primary_calibration()->add_bins()->set_verdicts(1);
    run.mutable_verdict_calibration()->add_bins()->set_verdicts(1);
  }
  for (const Table& table : PageTables(report)) {
    EXPECT_FALSE(table.rows.empty()) << table.title;
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.headings.size()) << table.title;
  }
  EXPECT_FALSE(TerminalTables(report).empty());
  EXPECT_FALSE(TerminalTables(v1::Report()).empty());
}

}  // namespace
}  // namespace galen::eval
