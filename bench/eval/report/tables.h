#ifndef BENCH_EVAL_REPORT_TABLES_H_
#define BENCH_EVAL_REPORT_TABLES_H_

#include <vector>

#include "bench/eval/report/table.h"
#include "galen/eval/v1/eval.pb.h"

namespace galen::eval {

// The numbers of a run as tables. Tables that compare strategies have a row for each strategy and
// mode; the others are about a single run. All are pure.

// Micro and macro F1 with their intervals, precision, recall, misleading and plain cases.
Table AccuracyTable(const v1::Report& report);
// Outcomes of the cases: right, wrong, abstained, convicted wrongly; calibration and entailment.
Table TrustTable(const v1::Report& report);
// Checks, seconds and questions; seconds also as a share of `exhaustive` where that ran too.
Table CostTable(const v1::Report& report);
// Accuracy with the history of a case's labels and without it; no rows unless both modes ran.
Table UnseenTable(const v1::Report& report);

// The accuracy of the first causes named, a row for each corpus.
Table NamingTable(const v1::Scores& run);
Table CategoryTable(const v1::Scores& run);
Table PipelineTable(const v1::Scores& run);
// Empty where no simulated customer answered.
Table DialogueTable(const v1::Report& report);
Table AttributionTable(const v1::Scores& run);
Table CalibrationTable(const v1::Scores& run);

// The tables that belong on a terminal, in order: the comparing ones, then those of the first run.
std::vector<Table> TerminalTables(const v1::Report& report);
// All tables of a page.
std::vector<Table> PageTables(const v1::Report& report);

// "tiered", or "tiered, withheld" in another mode than the plain one.
std::string RunName(const v1::Scores& run);

}  // namespace galen::eval

#endif  // BENCH_EVAL_REPORT_TABLES_H_
