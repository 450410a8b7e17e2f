#include "common/reasoner/outlook.h"

#include <set>

#include "absl/strings/string_view.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::Signal;
using galen::v1::Verdict;
using knowledge::v1::Label;

// Log-odds that signals and findings add to a leaf for the order of search. A signal proposes, so
// it weighs more here than in a verdict.
constexpr double kDecisiveWeight = 4.0;
constexpr double kStrong = 2.0;
constexpr double kWeakWeight = 0.5;
constexpr double kSharedWeight = 3.0;
constexpr double kSpecificWeight = 6.0;
constexpr double kRefuted = -4.0;

double LogOddsWeight(const Signal& signal) {
  double weight = kWeakWeight;
  if (signal.strength() == galen::v1::DECISIVE) weight = kDecisiveWeight;
  if (signal.strength() == galen::v1::STRONG) weight = kStrong;
  const bool direct =
      signal.role() == galen::v1::PRIMARY || signal.role() == galen::v1::SIGNAL_ROLE_UNSPECIFIED;
  return direct ? weight : weight / 4;
}

}  // namespace

Outlook Outlooks::Of(const Label& leaf) const {
  Outlook outlook;
  outlook.log_odds = PriorLogOdds(leaf);
  AddSignals(leaf, outlook);
  const bool signalled = outlook.strong;
  AddFindings(leaf, outlook);
  const bool open = !outlook.refuted || !outlook.finding.empty();
  outlook.strong = outlook.strong && open;
  outlook.compelling = outlook.compelling && open;
  if (outlook.refuted && outlook.finding.empty()) {
    outlook.log_odds += kRefuted - (signalled ? kStrong : 0);
  }
  return outlook;
}

void Outlooks::AddSignals(const Label& leaf, Outlook& outlook) const {
  std::set<absl::string_view> counted;
  double heaviest = 0;
  for (const Signal* signal : case_.evidence.SignalsFor(leaf.label())) {
    if (!counted.insert(signal->signal()).second) continue;
    const double weight = LogOddsWeight(*signal);
    // Many weak words do not make a strong one.
    outlook.said += counted.size() == 1 ? weight : weight / 2;
    outlook.strong = outlook.strong || weight >= kStrong;
    outlook.compelling = outlook.compelling || weight >= kDecisiveWeight;
    if (weight > heaviest) {
      heaviest = weight;
      outlook.signal = signal;
    }
  }
  outlook.log_odds += outlook.said;
}

void Outlooks::AddFindings(const Label& leaf, Outlook& outlook) const {
  double best = 0;
  size_t rejected = 0;
  for (const std::string& node : case_.evidence.nodes()) {
    const Assessment assessment = Assess(case_, leaf, node);
    rejected += assessment.outcome == Verdict::REJECTED ? 1 : 0;
    outlook.confirmed = outlook.confirmed || assessment.outcome == Verdict::CONFIRMED;
    for (const Supporting& each : assessment.supporting) {
      double weight = 0;
      if (each.support == Support::kShared) weight = kSharedWeight;
      if (each.support == Support::kSpecific) weight = kSpecificWeight;
      if (weight <= best) continue;
      best = weight;
      outlook.specific = each.support == Support::kSpecific;
      outlook.finding = Describe(case_.knowledge, each.entry);
    }
  }
  outlook.log_odds += best;
  outlook.strong = outlook.strong || best > 0;
  outlook.compelling = outlook.compelling || best > 0;
  outlook.refuted = !case_.evidence.nodes().empty() && rejected == case_.evidence.nodes().size();
}

}  // namespace galen::reasoner
