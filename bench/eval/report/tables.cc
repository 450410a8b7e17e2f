#include "bench/eval/report/tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace galen::eval {
namespace {

std::string Number(double value) { return absl::StrFormat("%.3f", value); }
std::string Percent(double value) { return absl::StrFormat("%.1f %%", 100 * value); }
std::string Whole(int value) { return absl::StrCat(value); }

std::string OutOf(int part, int whole) {
  if (whole == 0) return "-";
  return absl::StrFormat("%d/%d", part, whole);
}

// "0.950 of 40": F1 and the number of cases.
std::string OverCases(const v1::LeafScores& scores) {
  if (scores.cases() == 0) return "-";
  return absl::StrCat(Number(scores.micro_f1()), " of ", scores.cases());
}

std::string WithInterval(double value, double low, double high) {
  return absl::StrFormat("%.3f (%.3f to %.3f)", value, low, high);
}

const v1::Scores* FindRun(const v1::Report& report, absl::string_view strategy,
                          absl::string_view mode) {
  for (const v1::Scores& run : report.runs()) {
    if (run.strategy() == strategy && run.mode() == mode) return &run;
  }
  return nullptr;
}

// The error of `tiered` as a share of the error of the best other search: 0.5 means that tiered
// makes half as many mistakes. "" unless tiered and another search ran.
std::string ErrorLeft(const v1::Report& report) {
  const v1::Scores* tiered = FindRun(report, "tiered", "plain");
  const v1::Scores* best = nullptr;
  for (const char* strategy : {"history", "taxonomy", "direct", "exhaustive"}) {
    const v1::Scores* run = FindRun(report, strategy, "plain");
    if (run == nullptr) continue;
    if (best == nullptr || run->all().micro_f1() > best->all().micro_f1()) best = run;
  }
  if (tiered == nullptr || best == nullptr || best->all().micro_f1() >= 1) return "";
  return absl::StrFormat("1 - micro F1 of tiered is %.2f of that of the best other (%s).",
                         (1 - tiered->all().micro_f1()) / (1 - best->all().micro_f1()),
                         best->strategy());
}

}  // namespace

std::string RunName(const v1::Scores& run) {
  return run.mode() == "plain" ? run.strategy() : absl::StrCat(run.strategy(), ", ", run.mode());
}

Table AccuracyTable(const v1::Report& report) {
  Table table;
  table.title = "Accuracy";
  table.headings = {"strategy",  "micro F1 (95 %)", "macro F1 (95 %)", "precision",   "recall",
                    "main cat.", "misleading",      "plain",           "primary only"};
  for (const v1::Scores& run : report.runs()) {
    const v1::LeafScores& all = run.all();
    table.rows.push_back({RunName(run),
                          WithInterval(all.micro_f1(), all.micro_f1_low(), all.micro_f1_high()),
                          WithInterval(all.macro_f1(), all.macro_f1_low(), all.macro_f1_high()),
                          Number(all.precision()), Number(all.recall()),
                          Number(run.main_accuracy()), OverCases(run.misleading()),
                          OverCases(run.straight()), Number(run.primary_only().micro_f1())});
  }
  table.note = ErrorLeft(report);
  return table;
}

Table TrustTable(const v1::Report& report) {
  Table table;
  table.title = "Trust";
  table.headings = {
      "strategy",          "cases",           "right",       "wrong",        "abstained", "failed",
      "convicted wrongly", "without a cause", "ECE primary", "ECE verdicts", "entailed"};
  for (const v1::Scores& run : report.runs()) {
    const v1::Entailment& entailment = run.entailment();
    const int verdicts = entailment.confirmed() + entailment.rejected();
    const int entailed = entailment.confirmed_entailed() + entailment.rejected_entailed();
    table.rows.push_back(
        {RunName(run), Whole(run.cases()), Whole(run.right()), Whole(run.wrong()),
         Whole(run.abstained()), Whole(run.failed()), OutOf(run.convicted_wrongly(), run.cases()),
         OutOf(run.convicted_without_cause(), run.without_cause()),
         Number(run.primary_calibration().error()), Number(run.verdict_calibration().error()),
         verdicts == 0 ? "-" : Percent(static_cast<double>(entailed) / verdicts)});
  }
  return table;
}

// "3.2 (5)"; "0" where no model took part.
std::string MeanAndMost(double mean, std::int64_t most) {
  if (most == 0) return "0";
  return mean < 100 ? absl::StrFormat("%.1f (%d)", mean, most)
                    : absl::StrFormat("%.0f (%d)", mean, most);
}

Table CostTable(const v1::Report& report) {
  Table table;
  table.title = "Cost, mean of a case";
  table.headings = {"strategy",      "checks",         "runs",        "asked",     "verification s",
                    "of exhaustive", "reasoner calls", "model calls", "tokens in", "tokens out"};
  for (const v1::Scores& run : report.runs()) {
    const v1::Costs& costs = run.costs();
    const v1::Scores* all = FindRun(report, "exhaustive", run.mode());
    std::string share = "-";
    if (all != nullptr && all->costs().verification_seconds() > 0) {
      share = absl::StrFormat("%.2f",
                              costs.verification_seconds() / all->costs().verification_seconds());
    }
    table.rows.push_back({RunName(run), absl::StrFormat("%.1f", costs.checks()),
                          absl::StrFormat("%.1f", costs.check_runs()),
                          absl::StrFormat("%.1f", costs.checks_asked()),
                          absl::StrFormat("%.1f", costs.verification_seconds()), share,
                          absl::StrFormat("%.1f", costs.reasoner_calls()),
                          MeanAndMost(costs.model_calls(), costs.most_model_calls()),
                          MeanAndMost(costs.input_tokens(), costs.most_input_tokens()),
                          absl::StrFormat("%.0f", costs.output_tokens())});
  }
  table.note =
      "A simulated clock charges each check that ran its declared cost; nodes work side by side. "
      "A reasoner call is a question, whoever answers it; of what models take, the most that a "
      "case "
      "took stands behind the mean.";
  return table;
}

Table UnseenTable(const v1::Report& report) {
  Table table;
  table.title = "A cause that the history does not know";
  table.headings = {"strategy", "micro F1 before", "micro F1 after", "right before", "right after"};
  for (const v1::Scores& after : report.runs()) {
    if (after.mode() != "unseen") continue;
    const v1::Scores* before = FindRun(report, after.strategy(), "plain");
    if (before == nullptr) continue;
    table.rows.push_back({after.strategy(), Number(before->all().micro_f1()),
                          Number(after.all().micro_f1()), OutOf(before->right(), before->cases()),
                          OutOf(after.right(), after.cases())});
  }
  return table;
}

Table NamingTable(const v1::Scores& run) {
  Table table;
  table.title = absl::StrCat("Causes named: ", RunName(run));
  table.headings = {"corpus",    "cases",    "micro F1", "named first",      "among 3",
                    "confirmed", "presumed", "silent",   "presumed wrongly", "convicted wrongly",
                    "harmful",   "ECE",      "unread"};
  for (const v1::Naming& row : run.naming()) {
    table.rows.push_back({row.corpus(), Whole(row.cases()), Number(row.leaves().micro_f1()),
                          OutOf(row.first(), row.with_cause()),
                          OutOf(row.among_three(), row.with_cause()), Whole(row.confirmed_right()),
                          Whole(row.presumed_right()), Whole(row.rightly_silent()),
                          Whole(row.presumed_wrongly()), Whole(row.convicted_wrongly()),
                          Whole(row.convicted_never()), Number(row.calibration_error()),
                          OutOf(row.unread_artefacts(), row.artefacts())});
  }
  table.note =
      "Named first, or among the first three: confirmed, presumed or suspected, of cases with a "
      "cause. Silent: rightly, of cases without one. Unread: parts of posted reports that no check "
      "reads.";
  return table;
}

Table CategoryTable(const v1::Scores& run) {
  Table table;
  table.title = absl::StrCat("Main categories: ", RunName(run));
  table.headings = {"category", "cases", "precision", "recall", "F1", "main cat."};
  for (const v1::CategoryScores& row : run.categories()) {
    table.rows.push_back({row.main(), Whole(row.cases()), Number(row.precision()),
                          Number(row.recall()), Number(row.f1()), Number(row.main_accuracy())});
  }
  return table;
}

Table PipelineTable(const v1::Scores& run) {
  Table table;
  table.title = absl::StrCat("Solved by pipeline: ", RunName(run));
  table.headings = {"pipeline", "solved", "share", "with those before"};
  for (const v1::PipelineShare& row : run.pipelines()) {
    table.rows.push_back({absl::AsciiStrToLower(row.origin()), Whole(row.solved()),
                          Percent(row.share()), Percent(row.cumulative())});
  }
  return table;
}

Table DialogueTable(const v1::Report& report) {
  Table table;
  table.title = "Questions and answers: cases whose decisive part the customer holds back";
  table.headings = {"strategy",        "cases",     "open without a question",
                    "right after one", "after two", "convicted wrongly",
                    "questions",       "answered"};
  for (const v1::Scores& run : report.runs()) {
    if (!run.has_dialogue()) continue;
    const v1::DialogueScores& dialogue = run.dialogue();
    table.rows.push_back({RunName(run), Whole(dialogue.cases()), Whole(dialogue.open()),
                          OutOf(dialogue.solved(0), dialogue.open()),
                          OutOf(dialogue.solved(1), dialogue.open()),
                          OutOf(dialogue.wrong(1), dialogue.open()), Whole(dialogue.questions()),
                          Whole(dialogue.answered())});
  }
  return table;
}

Table AttributionTable(const v1::Scores& run) {
  const v1::Attribution& attribution = run.attribution();
  Table table;
  table.title = absl::StrCat("Right causes placed rightly: ", RunName(run));
  table.headings = {"what", "right"};
  table.rows = {{"hosts", OutOf(attribution.hosts_right(), attribution.hosts_judged())},
                {"devices", OutOf(attribution.devices_right(), attribution.devices_judged())}};
  return table;
}

Table CalibrationTable(const v1::Scores& run) {
  Table table;
  table.title = absl::StrCat("Confidence and what came true: ", RunName(run));
  table.headings = {"confidence", "primary causes", "mean", "right", "verdicts", "mean", "true"};
  const auto& primary = run.primary_calibration().bins();
  const auto& verdicts = run.verdict_calibration().bins();
  for (int i = 0; i < std::min(primary.size(), verdicts.size()); ++i) {
    if (primary[i].verdicts() == 0 && verdicts[i].verdicts() == 0) continue;
    table.rows.push_back({absl::StrFormat("%.1f to %.1f", primary[i].low(), primary[i].high()),
                          Whole(primary[i].verdicts()), Number(primary[i].confidence()),
                          Number(primary[i].right()), Whole(verdicts[i].verdicts()),
                          Number(verdicts[i].confidence()), Number(verdicts[i].right())});
  }
  return table;
}

std::vector<Table> TerminalTables(const v1::Report& report) {
  std::vector<Table> tables = {AccuracyTable(report), TrustTable(report), CostTable(report)};
  for (Table table : {UnseenTable(report), DialogueTable(report)}) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  if (report.runs_size() > 0) {
    const v1::Scores* run = FindRun(report, "tiered", "plain");
    if (run == nullptr) run = &report.runs(0);
    tables.push_back(NamingTable(*run));
    tables.push_back(CategoryTable(*run));
    tables.push_back(PipelineTable(*run));
    tables.push_back(AttributionTable(*run));
    tables.push_back(CalibrationTable(*run));
  }
  return tables;
}

std::vector<Table> PageTables(const v1::Report& report) {
  std::vector<Table> tables = {AccuracyTable(report), TrustTable(report), CostTable(report)};
  for (Table table : {UnseenTable(report), DialogueTable(report)}) {
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  for (const v1::Scores& run : report.runs()) {
    tables.push_back(NamingTable(run));
    tables.push_back(CategoryTable(run));
    tables.push_back(PipelineTable(run));
    tables.push_back(AttributionTable(run));
    tables.push_back(CalibrationTable(run));
  }
  return tables;
}

}  // namespace galen::eval
