#ifndef COMMON_REASONER_JUDGE_H_
#define COMMON_REASONER_JUDGE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/entry.h"
#include "common/reasoner/evidence_view.h"
#include "common/reasoner/rule_index.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::reasoner {

// What a judgement looks at. All three outlive it.
struct Case {
  const knowledge::Knowledge& knowledge;
  const RuleIndex& index;
  const EvidenceView& evidence;
};

// How a confirm entry that is true speaks for its leaf.
enum class Support {
  kContext,    // general: true of healthy machines as well
  kExplained,  // a logged event that another leaf with evidence of its own lists as its effect
  kShared,     // another leaf at least as likely rests on the same finding
  kSpecific,   // nothing else accounts for it
};

struct Supporting {
  Entry entry;
  Support support = Support::kContext;
  // The leaf that shares or explains it.
  const knowledge::v1::Label* rival = nullptr;
};

// A leaf on one node.
struct Assessment {
  std::string node;
  std::vector<Supporting> supporting;  // confirm entries that are true
  std::vector<Entry> absent;           // confirm entries that are definitely false
  std::vector<Entry> opposing;         // refute entries that are true
  std::vector<Entry> unknown;          // entries of both kinds that cannot be told
  // The evidence speaks for it as it does for a confirmed leaf, but the leaf is residual, a
  // decisive message in a log is all there is, or a single witness is in doubt: the answer where
  // nothing is confirmed.
  bool presumed = false;
  // Why a single witness does not confirm it here, "" otherwise. Then it is presumed.
  std::string doubt;
  double log_odds = 0;
  galen::v1::Verdict::Outcome outcome = galen::v1::Verdict::INCONCLUSIVE;

  bool HasSpecific() const;
  // A true entry that is more than context and not explained by another leaf.
  bool HasEvidence() const;
};

// Weighs the leaf on `node`. docs/reasoner.md states the rule and its numbers. Pure.
Assessment Assess(const Case& the_case, const knowledge::v1::Label& leaf, absl::string_view node);

// Assess on every node of the evidence, in one verdict: CONFIRMED when some node confirms it, else
// INCONCLUSIVE when some node cannot tell, else REJECTED. INCONCLUSIVE with `residual` where a node
// lets it be presumed. Pure.
galen::v1::Verdict Judge(const Case& the_case, const knowledge::v1::Label& leaf);

// The logistic function: log-odds to probability.
double Probability(double log_odds);

// Log-odds of a leaf before any evidence, from its declared prior.
double PriorLogOdds(const knowledge::v1::Label& leaf);

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_JUDGE_H_
