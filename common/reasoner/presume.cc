#include "common/reasoner/presume.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/reasoner/rank.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Signal;

// The probability from history is at most one half, which weighs as much as an observation of 2 in
// log-odds.
constexpr double kSimilar = 4.0;

v1::PresumeAnswer::Cause MakeCause(const std::string& label, const Case& the_case,
                                   const v1::HistoryAnswer::Cause* past) {
  v1::PresumeAnswer::Cause cause;
  cause.set_label(label);
  std::vector<std::string> reasons;
  const Signal* strongest = nullptr;
  for (const Signal& signal : the_case.evidence.summary().signals()) {
    const auto& labels = signal.labels();
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) continue;
    cause.add_evidence_ids(signal.id());
    if (strongest == nullptr || signal.strength() > strongest->strength()) strongest = &signal;
  }
  if (strongest != nullptr) reasons.push_back(Describe(*strongest));
  if (past != nullptr) {
    reasons.push_back(past->reason());
    *cause.mutable_incidents() = past->incidents();
  }
  cause.set_reason(absl::StrJoin(reasons, "; "));
  return cause;
}

}  // namespace

v1::PresumeAnswer Presume(const Case& the_case, const v1::PresumeQuestion& question,
                          const v1::HistoryAnswer& similar) {
  std::map<std::string, const v1::HistoryAnswer::Cause*> past;
  for (const v1::HistoryAnswer::Cause& cause : similar.causes()) past[cause.label()] = &cause;
  v1::RankQuestion order;
  *order.mutable_choices() = question.choices();
  std::vector<v1::PresumeAnswer::Cause> causes;
  double total = 0;
  const v1::RankAnswer ranking = Rank(the_case, order);
  for (const v1::RankAnswer::Ranked& ranked : ranking.ranked()) {
    const auto it = past.find(ranked.label());
    const v1::HistoryAnswer::Cause* const known = it == past.end() ? nullptr : it->second;
    const double weight =
        ranked.probability() * std::exp(known == nullptr ? 0 : kSimilar * known->probability());
    total += weight;
    v1::PresumeAnswer::Cause cause = MakeCause(ranked.label(), the_case, known);
    if (cause.evidence_ids().empty() && cause.incidents().empty()) continue;
    cause.set_probability(weight);
    causes.push_back(std::move(cause));
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.probability() > b.probability(); });
  v1::PresumeAnswer answer;
  for (v1::PresumeAnswer::Cause& cause : causes) {
    if (answer.causes_size() >= std::max(question.max_causes(), 1)) break;
    cause.set_probability(cause.probability() / total);
    *answer.add_causes() = std::move(cause);
  }
  return answer;
}

}  // namespace galen::reasoner
