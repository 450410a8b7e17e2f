#include "bench/eval/metrics/run_scores.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "bench/eval/metrics/attribution.h"
#include "bench/eval/metrics/calibration.h"
#include "bench/eval/metrics/costs.h"
#include "bench/eval/metrics/dialogue.h"
#include "bench/eval/metrics/model_calibrations.h"
#include "bench/eval/metrics/naming.h"

namespace galen::eval {
namespace {

double PartOf(double part, double whole) { return whole > 0 ? part / whole : 0; }

template <typename List>
bool Contains(const List& list, absl::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry == text; });
}

bool IsTrue(const v1::Case& a_case, absl::string_view label) {
  return HasCause(a_case) &&
         (Contains(a_case.labels(), label) || Contains(a_case.labels_acceptable(), label));
}

bool IsOfMain(const v1::Case& a_case, absl::string_view main) {
  const auto of_main = [&](const std::string& label) { return MainCategory(label) == main; };
  return std::any_of(a_case.labels().begin(), a_case.labels().end(), of_main) ||
         std::any_of(a_case.labels_acceptable().begin(), a_case.labels_acceptable().end(), of_main);
}

bool HasRightMain(const v1::Case& a_case, const v1::CaseResult& result) {
  return HasCause(a_case) && result.has_primary() &&
         IsOfMain(a_case, MainCategory(result.primary().label()));
}

// Accuracy of the main category over all cases with a cause, and the table of the main categories.
void ScoreCategories(const std::vector<v1::Case>& cases, const std::vector<v1::CaseResult>& results,
                     const std::vector<CaseScore>& scores, v1::Scores& run) {
  struct Category {
    Counts counts;
    int cases = 0;
    int right_main = 0;
  };
  std::map<std::string, Category> categories;
  int right_main = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto category = [&](absl::string_view label) -> Category& {
      return categories[std::string(MainCategory(label))];
    };
    for (const std::string& label : scores[i].hits) ++category(label).counts.true_positives;
    for (const std::string& label : scores[i].wrong) ++category(label).counts.false_positives;
    for (const std::string& label : scores[i].missed) ++category(label).counts.false_negatives;
    if (!HasCause(cases[i])) continue;
    Category& own = category(cases[i].labels(0));
    ++own.cases;
    if (HasRightMain(cases[i], results[i])) {
      ++own.right_main;
      ++right_main;
    }
  }
  for (const auto& [main, category] : categories) {
    v1::CategoryScores& row = *run.add_categories();
    row.set_main(main);
    row.set_cases(category.cases);
    row.set_precision(category.counts.Precision());
    row.set_recall(category.counts.Recall());
    row.set_f1(category.counts.F1());
    row.set_main_accuracy(PartOf(category.right_main, category.cases));
  }
  run.set_main_accuracy(PartOf(right_main, run.with_cause()));
}

void ScorePipelines(const std::vector<v1::Case>& cases, const std::vector<v1::CaseResult>& results,
                    v1::Scores& run) {
  std::map<std::string, int> solved;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (results[i].has_primary() && IsTrue(cases[i], results[i].primary().label())) {
      ++solved[results[i].primary().origin()];
    }
  }
  int so_far = 0;
  const auto add = [&](const std::string& origin, int count) {
    so_far += count;
    v1::PipelineShare& row = *run.add_pipelines();
    row.set_origin(origin);
    row.set_solved(count);
    row.set_share(PartOf(count, run.with_cause()));
    row.set_cumulative(PartOf(so_far, run.with_cause()));
  };
  // In the order in which a search comes by them.
  for (const char* origin :
       {"DIRECT", "HISTORY", "SCREENING", "TAXONOMY", "CRITIQUE", "EXPLORATION"}) {
    const auto found = solved.find(origin);
    if (found == solved.end()) continue;
    add(origin, found->second);
    solved.erase(found);
  }
  for (const auto& [origin, count] : solved) add(origin, count);
}

void ScoreBeliefs(const std::vector<v1::Case>& cases, const std::vector<v1::CaseResult>& results,
                  v1::Scores& run) {
  std::vector<Belief> primary;
  std::vector<Belief> verdicts;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const v1::CaseResult& result = results[i];
    if (result.has_primary()) {
      primary.push_back(
          {result.primary().probability(), IsTrue(cases[i], result.primary().label())});
    }
    for (const v1::JudgedHypothesis& judged : result.judged()) {
      // An effect that really is there is no error of the verdict on it.
      if (Contains(cases[i].labels_secondary(), judged.label())) continue;
      verdicts.push_back({judged.probability(), IsTrue(cases[i], judged.label())});
      v1::Entailment& entailment = *run.mutable_entailment();
      if (judged.status() == "CONFIRMED") {
        entailment.set_confirmed(entailment.confirmed() + 1);
        entailment.set_confirmed_entailed(entailment.confirmed_entailed() + judged.entailed());
      } else if (judged.status() == "REJECTED") {
        entailment.set_rejected(entailment.rejected() + 1);
        entailment.set_rejected_entailed(entailment.rejected_entailed() + judged.entailed());
      }
    }
  }
  *run.mutable_primary_calibration() = Calibrate(primary);
  *run.mutable_verdict_calibration() = Calibrate(verdicts);
}

void CountVerdict(const v1::Case& a_case, const v1::CaseResult& result, const CaseScore& score,
                  v1::Scores& run) {
  run.set_with_cause(run.with_cause() + HasCause(a_case));
  run.set_without_cause(run.without_cause() + !HasCause(a_case));
  run.set_right(run.right() + (score.verdict == Verdict::kRight));
  run.set_wrong(run.wrong() + (score.verdict == Verdict::kWrong));
  run.set_abstained(run.abstained() + (score.verdict == Verdict::kAbstained));
  run.set_failed(run.failed() + (score.verdict == Verdict::kFailed));
  run.set_history_left_out(run.history_left_out() + result.left_out_size());
  // A presumed cause is not a conviction.
  if (!score.wrong.empty() && !result.primary().presumed()) {
    run.set_convicted_wrongly(run.convicted_wrongly() + 1);
    run.set_convicted_without_cause(run.convicted_without_cause() + !HasCause(a_case));
  }
}

v1::CaseLine LineOf(const v1::Case& a_case, const v1::CaseResult& result, const CaseScore& score) {
  v1::CaseLine line;
  line.set_id(a_case.id());
  line.set_verdict(std::string(VerdictName(score.verdict)));
  *line.mutable_expected() = a_case.labels();
  if (result.has_primary()) line.add_named(result.primary().label());
  for (const v1::NamedCause& other : result.others()) line.add_named(other.label());
  line.set_confidence(result.primary().probability());
  line.set_origin(result.primary().origin());
  return line;
}

}  // namespace

v1::Scores ScoreRun(const std::vector<v1::Case>& cases, const std::vector<v1::CaseResult>& results,
                    const std::vector<CaseScore>& scores, std::int64_t seed) {
  v1::Scores run;
  run.set_cases(static_cast<int>(cases.size()));
  if (!results.empty()) {
    run.set_strategy(results.front().strategy());
    run.set_mode(results.front().mode());
  }
  std::vector<CaseScore> primary;
  primary.reserve(cases.size());
  std::vector<const CaseScore*> all;
  std::vector<const CaseScore*> primary_only;
  std::vector<const CaseScore*> misleading;
  std::vector<const CaseScore*> straight;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    all.push_back(&scores[i]);
    primary.push_back(ScorePrimary(cases[i], results[i]));
    primary_only.push_back(&primary.back());
    if (cases[i].has_misleading()) {
      (cases[i].misleading() ? misleading : straight).push_back(&scores[i]);
    }
    CountVerdict(cases[i], results[i], scores[i], run);
    if (results[i].has_primary() && IsTrue(cases[i], results[i].primary().label())) {
      CountAttribution(cases[i], results[i].primary(), *run.mutable_attribution());
    }
    *run.add_lines() = LineOf(cases[i], results[i], scores[i]);
  }
  *run.mutable_all() = ToLeafScores(all);
  const F1Intervals intervals = Resample(all, seed, kDraws);
  run.mutable_all()->set_micro_f1_low(intervals.micro.low);
  run.mutable_all()->set_micro_f1_high(intervals.micro.high);
  run.mutable_all()->set_macro_f1_low(intervals.macro.low);
  run.mutable_all()->set_macro_f1_high(intervals.macro.high);
  *run.mutable_primary_only() = ToLeafScores(primary_only);
  *run.mutable_misleading() = ToLeafScores(misleading);
  *run.mutable_straight() = ToLeafScores(straight);
  ScoreCategories(cases, results, scores, run);
  ScorePipelines(cases, results, run);
  ScoreBeliefs(cases, results, run);
  *run.mutable_costs() = MeanCosts(results);
  if (v1::DialogueScores dialogue = ScoreDialogue(cases, results); dialogue.cases() > 0) {
    *run.mutable_dialogue() = std::move(dialogue);
  }
  for (knowledge::v1::LlmCalibration& measured : MeasureModels(cases, results)) {
    *run.add_llm_calibrations() = std::move(measured);
  }
  for (v1::Naming& naming : ScoreNaming(cases, results, scores)) {
    *run.add_naming() = std::move(naming);
  }
  return run;
}

}  // namespace galen::eval
