#include "bench/eval/report/page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/eval/report/plots.h"
#include "bench/eval/report/tables.h"

namespace galen::eval {
namespace {

constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Galen: how often the cause is found</title>
<style>
:root { color-scheme: light dark; --ink: #1c2430; --dim: #66707d; --grid: #d9dee5;
  --a: #2b6cb0; --b: #dd8a2f; --c: #3a9a6b; --d: #a04fa8; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --dim: #98a2b0; --grid: #39424e;
  --a: #6aa7e8; --b: #f0b063; --c: #6cc79b; --d: #cf8fd6; --paper: #14181d; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1150px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; } h2 { font-size: 1.1em; margin: 1.6em 0 .4em; }
td, th { padding: 3px 10px; border-bottom: 1px solid var(--grid); text-align: right; }
td:first-child, th:first-child { text-align: left; }
.plots { display: flex; flex-wrap: wrap; gap: 24px; } p, .right { color: var(--dim); }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
svg text.title { font-size: 14px; fill: var(--ink); }
.grid { stroke: var(--grid); } .whisker { stroke: var(--ink); stroke-dasharray: 3 2; }
.s0 { fill: var(--a); } .s1 { fill: var(--b); } .s2 { fill: var(--c); } .s3 { fill: var(--d); }
</style></head><body>
<h1>How often the cause is found</h1>
)";

BarChart F1Chart(const v1::Report& report) {
  BarChart chart;
  chart.title = "F1 over root causes, with 95 % intervals";
  chart.top = 1;
  Series micro{"micro F1", {}, {}, {}};
  Series macro{"macro F1", {}, {}, {}};
  for (const v1::Scores& run : report.runs()) {
    chart.groups.push_back(RunName(run));
    micro.values.push_back(run.all().micro_f1());
    micro.low.push_back(run.all().micro_f1_low());
    micro.high.push_back(run.all().micro_f1_high());
    macro.values.push_back(run.all().macro_f1());
    macro.low.push_back(run.all().macro_f1_low());
    macro.high.push_back(run.all().macro_f1_high());
  }
  chart.series = {micro, macro};
  return chart;
}

BarChart SecondsChart(const v1::Report& report) {
  BarChart chart;
  chart.title = "Verification time, mean of a case";
  chart.unit = "s";
  Series seconds{"simulated seconds", {}, {}, {}};
  for (const v1::Scores& run : report.runs()) {
    chart.groups.push_back(RunName(run));
    seconds.values.push_back(run.costs().verification_seconds());
  }
  chart.series = {seconds};
  return chart;
}

BarChart CategoryChart(const v1::Scores& run) {
  BarChart chart;
  chart.title = absl::StrCat("Main categories: ", RunName(run));
  chart.top = 1;
  Series precision{"precision", {}, {}, {}};
  Series recall{"recall", {}, {}, {}};
  Series f1{"F1", {}, {}, {}};
  for (const v1::CategoryScores& row : run.categories()) {
    chart.groups.push_back(absl::StrCat(row.main(), " (", row.cases(), ")"));
    precision.values.push_back(row.precision());
    recall.values.push_back(row.recall());
    f1.values.push_back(row.f1());
  }
  chart.series = {precision, recall, f1};
  return chart;
}

Table NotRight(const v1::Scores& run) {
  Table table;
  table.title = absl::StrCat("Cases that are not right: ", RunName(run));
  table.headings = {"case", "verdict", "expected", "named", "confidence"};
  for (const v1::CaseLine& line : run.lines()) {
    if (line.verdict() == "right") continue;
    table.rows.push_back({line.id(), line.verdict(), absl::StrJoin(line.expected(), " + "),
                          absl::StrJoin(line.named(), " + "),
                          line.named().empty() ? "" : absl::StrFormat("%.2f", line.confidence())});
  }
  return table;
}

}  // namespace

std::string Page(const v1::Report& report) {
  std::string page = kHead;
  absl::StrAppend(&page, "<p>Corpus ", EscapeHtml(absl::StrJoin(report.corpora(), ", ")),
                  ", knowledge ", EscapeHtml(report.knowledge_digest()), ", seed ", report.seed(),
                  "</p>\n");
  for (const std::string& remark : report.remarks()) {
    absl::StrAppend(&page, "<p>Note: ", EscapeHtml(remark), "</p>\n");
  }
  absl::StrAppend(&page, "<div class=\"plots\">\n", BarsSvg(F1Chart(report)),
                  BarsSvg(SecondsChart(report)));
  for (const v1::Scores& run : report.runs()) {
    page += BarsSvg(CategoryChart(run));
    page +=
        ReliabilitySvg(absl::StrCat("Primary causes: ", RunName(run)), run.primary_calibration());
    page += ReliabilitySvg(absl::StrCat("All verdicts: ", RunName(run)), run.verdict_calibration());
  }
  page += "</div>\n";
  for (const Table& table : PageTables(report)) page += TableHtml(table);
  for (const v1::Scores& run : report.runs()) page += TableHtml(NotRight(run));
  return absl::StrCat(page, "</body></html>\n");
}

}  // namespace galen::eval
