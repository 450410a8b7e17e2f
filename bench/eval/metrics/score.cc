#include "bench/eval/metrics/score.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace galen::eval {
namespace {

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

template <typename List>
bool Has(const List& list, absl::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry == text; });
}

}  // namespace

double Counts::Precision() const { return Ratio(true_positives, true_positives + false_positives); }
double Counts::Recall() const { return Ratio(true_positives, true_positives + false_negatives); }
double Counts::F1() const {
  return Ratio(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
}

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRight:
      return "right";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kAbstained:
      return "abstained";
    case Verdict::kFailed:
      return "failed";
  }
  return "";
}

CaseScore ScoreCase(const v1::Case& a_case, const v1::CaseResult& result) {
  CaseScore score;
  std::vector<std::string> open;
  if (HasCause(a_case)) open.assign(a_case.labels().begin(), a_case.labels().end());
  std::vector<std::string> named;
  if (result.has_primary()) named.push_back(result.primary().label());
  for (const v1::NamedCause& other : result.others()) named.push_back(other.label());

  std::vector<std::string> rest;
  for (std::string& label : named) {
    const auto found = std::find(open.begin(), open.end(), label);
    if (found == open.end()) {
      rest.push_back(std::move(label));
      continue;
    }
    score.hits.push_back(*found);
    open.erase(found);
  }
  for (std::string& label : rest) {
    const bool primary = result.has_primary() && label == result.primary().label();
    if (HasCause(a_case) && Has(a_case.labels_acceptable(), label)) {
      // It counts as the first true cause that has not been named yet; otherwise it is an
      // additional name.
      if (!open.empty()) {
        score.hits.push_back(open.front());
        open.erase(open.begin());
      }
    } else if (!primary && !score.hits.empty() && Has(a_case.labels_secondary(), label)) {
      continue;
    } else {
      score.wrong.push_back(std::move(label));
    }
  }
  score.missed = std::move(open);
  if (!result.error().empty()) {
    score.verdict = Verdict::kFailed;
  } else if (score.wrong.empty() && score.missed.empty()) {
    score.verdict = Verdict::kRight;
  } else if (score.wrong.empty() && score.hits.empty()) {
    score.verdict = Verdict::kAbstained;
  } else {
    score.verdict = Verdict::kWrong;
  }
  return score;
}

CaseScore ScorePrimary(const v1::Case& a_case, const v1::CaseResult& result) {
  v1::CaseResult alone;
  alone.set_error(result.error());
  if (result.has_primary()) *alone.mutable_primary() = result.primary();
  CaseScore score = ScoreCase(a_case, alone);
  if (!score.hits.empty()) {
    score.missed.clear();
    score.verdict = Verdict::kRight;
  }
  return score;
}

absl::string_view MainCategory(absl::string_view label) { return label.substr(0, label.find('.')); }

F1Scores ScoreLeaves(absl::Span<const CaseScore* const> scores) {
  std::map<absl::string_view, Counts> leaves;
  for (const CaseScore* score : scores) {
    for (const std::string& label : score->hits) ++leaves[label].true_positives;
    for (const std::string& label : score->wrong) ++leaves[label].false_positives;
    for (const std::string& label : score->missed) ++leaves[label].false_negatives;
  }
  F1Scores all;
  all.cases = static_cast<int>(scores.size());
  all.leaves = static_cast<int>(leaves.size());
  for (const auto& [label, counts] : leaves) {
    all.micro.true_positives += counts.true_positives;
    all.micro.false_positives += counts.false_positives;
    all.micro.false_negatives += counts.false_negatives;
    all.macro += counts.F1();
  }
  all.macro = Ratio(all.macro, all.leaves);
  return all;
}

v1::LeafScores ToLeafScores(absl::Span<const CaseScore* const> scores) {
  const F1Scores f1 = ScoreLeaves(scores);
  v1::LeafScores leaves;
  leaves.set_cases(f1.cases);
  leaves.set_leaves(f1.leaves);
  leaves.set_micro_f1(f1.micro.F1());
  leaves.set_macro_f1(f1.macro);
  leaves.set_precision(f1.micro.Precision());
  leaves.set_recall(f1.micro.Recall());
  return leaves;
}

F1Intervals Resample(absl::Span<const CaseScore* const> scores, std::int64_t seed, int draws) {
  if (scores.empty() || draws <= 0) return {};
  // Fixed by the standard, unlike its distributions: the same numbers on every machine.
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::vector<double> micro;
  std::vector<double> macro;
  std::vector<const CaseScore*> drawn(scores.size());
  for (int i = 0; i < draws; ++i) {
    for (const CaseScore*& score : drawn) score = scores[random() % scores.size()];
    const F1Scores f1 = ScoreLeaves(drawn);
    micro.push_back(f1.micro.F1());
    macro.push_back(f1.macro);
  }
  const auto middle = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    return Interval{values[static_cast<std::size_t>(last * 0.025)],
                    values[static_cast<std::size_t>(last * 0.975)]};
  };
  return {middle(micro), middle(macro)};
}

}  // namespace galen::eval
