#include "services/cli/eval/metrics/score.h"

#include <algorithm>
#include <utility>

namespace galen::eval {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

template <typename List>
bool Contains(const List& list, absl::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](const auto& entry) { return entry == text; });
}

}  // namespace

double Counts::Precision() const { return Share(true_positives, true_positives + false_positives); }
double Counts::Recall() const { return Share(true_positives, true_positives + false_negatives); }
double Counts::F1() const {
  return Share(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
}

CaseScore ScoreCase(const v1::Case& a_case, const v1::CaseResult& result) {
  CaseScore score;
  std::vector<std::string> open(a_case.labels().begin(), a_case.labels().end());
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
    if (Contains(a_case.labels_acceptable(), label)) {
      // It stands for the first true cause that nothing has named; beside it, it is another name.
      if (!open.empty()) {
        score.hits.push_back(open.front());
        open.erase(open.begin());
      }
    } else if (!primary && !score.hits.empty() && Contains(a_case.labels_secondary(), label)) {
      continue;
    } else {
      score.wrong.push_back(std::move(label));
    }
  }
  score.missed = std::move(open);
  if (!score.wrong.empty()) {
    score.verdict = Verdict::kWrong;
  } else if (!score.missed.empty()) {
    score.verdict = score.hits.empty() ? Verdict::kAbstained : Verdict::kWrong;
  } else {
    score.verdict = result.error().empty() ? Verdict::kRight : Verdict::kWrong;
  }
  return score;
}

absl::string_view MainCategory(absl::string_view label) { return label.substr(0, label.find('.')); }

F1Scores ScoreLeaves(absl::Span<const CaseScore* const> scores) {
  F1Scores all;
  std::map<std::string, Counts> leaves;
  for (const CaseScore* score : scores) {
    ++all.cases;
    for (const std::string& label : score->hits) ++leaves[label].true_positives;
    for (const std::string& label : score->wrong) ++leaves[label].false_positives;
    for (const std::string& label : score->missed) ++leaves[label].false_negatives;
  }
  for (const auto& [label, counts] : leaves) {
    all.micro.true_positives += counts.true_positives;
    all.micro.false_positives += counts.false_positives;
    all.micro.false_negatives += counts.false_negatives;
    all.macro += counts.F1();
  }
  all.leaves = static_cast<int>(leaves.size());
  all.macro = Share(all.macro, all.leaves);
  return all;
}

}  // namespace galen::eval
