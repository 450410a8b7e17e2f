#include "bench/eval/report/page.h"

#include <limits>
#include <string>

#include "absl/strings/str_replace.h"
#include "bench/eval/report/plots.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace galen::eval {
namespace {

using testing::HasSubstr;
using testing::Not;

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(BarsSvg, HasABarForEachValueAndAWhiskerForEachInterval) {
  BarChart chart;
  chart.title = "F1";
  chart.top = 1;
  chart.groups = {"tiered", "history"};
  chart.series = {{"micro", {0.9, 0.5}, {0.85, 0.4}, {0.95, 0.6}}, {"macro", {0.8, 0.3}, {}, {}}};
  const std::string svg = BarsSvg(chart);
  EXPECT_EQ(Count(svg, "<rect"), 2 + 4) << "two in the legend";
  EXPECT_EQ(Count(svg, "whisker"), 2);
  EXPECT_THAT(svg, HasSubstr("tiered, micro: 0.900"));
}

TEST(BarsSvg, AHigherValueIsALongerBar) {
  BarChart chart;
  chart.groups = {"a", "b"};
  chart.series = {{"s", {10, 5}, {}, {}}};
  const std::string svg = BarsSvg(chart);
  // The axis ends at ten: the bars are 168 and 84 pixels high.
  EXPECT_THAT(svg, HasSubstr("height=\"168.0\""));
  EXPECT_THAT(svg, HasSubstr("height=\"84.0\""));
}

TEST(BarsSvg, ValuesThatAreNoNumbersBreakNothing) {
  BarChart chart;
  chart.groups = {"a", "b", "c"};
  chart.series = {
      {"s",
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1},
       {},
       {}}};
  EXPECT_THAT(BarsSvg(chart), HasSubstr("</svg>"));
  EXPECT_THAT(BarsSvg(BarChart()), HasSubstr("</svg>"));
}

TEST(ReliabilitySvg, HasAPointForEachBinThatHasVerdicts) {
  v1::Calibration calibration;
  for (int i = 0; i < 3; ++i) calibration.add_bins()->set_verdicts(i);
  EXPECT_EQ(Count(ReliabilitySvg("title", calibration), "<circle"), 2);
}

TEST(Page, EscapesWhatComesFromTheCorpus) {
  v1::Report report;
  report.add_corpora("/tmp/<b>");
  report.add_remarks("<img src=x>");
  v1::Scores& run = *report.add_runs();
  run.set_strategy("tiered");
  run.set_mode("plain");
  v1::CaseLine& line = *run.add_lines();
  line.set_id("case-1");
  line.set_verdict("wrong");
  line.add_expected("GPU.<i>");
  line.add_named("GPU.B");
  const std::string page = Page(report);
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("GPU.&lt;i&gt;"));
  EXPECT_THAT(page, HasSubstr("case-1"));
}

TEST(Page, LoadsNothingAndRunsNothing) {
  v1::Report report;
  report.add_runs()->set_strategy("tiered");
  // The name space of SVG is a name; nothing is loaded from it.
  const std::string page = absl::StrReplaceAll(Page(report), {{"http://www.w3.org/2000/svg", ""}});
  for (const char* foreign : {"<script", "http:", "https:", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  }
}

}  // namespace
}  // namespace galen::eval
