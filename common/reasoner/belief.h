#ifndef COMMON_REASONER_BELIEF_H_
#define COMMON_REASONER_BELIEF_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/knowledge/knowledge.h"
#include "common/reasoner/entry.h"
#include "common/reasoner/evidence_view.h"
#include "common/reasoner/likeness.h"
#include "common/reasoner/rates.h"
#include "common/reasoner/rule_index.h"

namespace galen::reasoner {

// The input of a judgement. All parts must outlive it.
struct Case {
  const knowledge::Knowledge& knowledge;
  const RuleIndex& index;
  const Rates& rates;
  const EvidenceView& evidence;
  // Leaves that the text of the report supports.
  const Likeness& alike;
};

// The source of an observation. Several observations of one source add little to the first one.
enum class Witness {
  kMachine,
  kLog,
  kPerson,
  kEffect,  // another leaf that this one lists as its effect, with evidence of its own
};

// One observation that supports a leaf.
struct Observation {
  Witness witness = Witness::kMachine;
  // Logarithm of the likelihood ratio: with this cause to without it; above 0.
  double weight = 0;
  // A true confirm rule of the leaf, or of an effect that it lists; or a message; or the likeness
  // of the report to people's descriptions of the leaf.
  Entry entry;
  const galen::v1::Signal* signal = nullptr;
  const Like* like = nullptr;
};

// Whether it is more than a person's words, and more than healthy machines show.
bool IsEvidence(const Observation& observation);

// A leaf on one node.
struct Belief {
  const knowledge::v1::Label* leaf = nullptr;
  std::string node;
  std::vector<Observation> observations;          // the weightiest first
  std::vector<Entry> opposing;                    // refute rules that are true
  std::vector<Entry> opposing_in_part;            // those that hold for the part that was shown
  std::vector<const galen::v1::Signal*> denials;  // messages and words that speak against it
  std::vector<Entry> absent;                      // confirm rules that are definitely false
  std::vector<Entry> unknown;                     // rules of both kinds with unknown truth
  // Logarithm of its odds against "no cause in the knowledge".
  double log_odds = 0;

  // Whether its evidence is more than a person's words.
  bool HasEvidence() const;
  // Whether a machine or a program speaks against it.
  bool IsOpposed() const;
};

// The probability of each leaf as the cause of an incident, given all observations.
// docs/reasoner.md has the model: each leaf is weighed alone (Weigh), all of them and "none of
// these" share the probability of 1, and observations that a proven cause explains prove no second
// one.
//
// Weigh() and the class are pure; a Beliefs refers to its Case.
Belief Weigh(const Case& the_case, const knowledge::v1::Label& leaf, absl::string_view node);

// The information of a future observation, by the same model.
struct Prospect {
  double if_cause = 0;   // probability of seeing it with the cause
  double otherwise = 0;  // probability of seeing it with another cause
  double weight = 0;     // logarithm of odds for the cause if it is seen
  double if_absent = 0;  // logarithm of odds if it is searched for and absent; 0 or below
};
// For a confirm rule with unknown truth.
Prospect ProspectOf(const Case& the_case, const knowledge::v1::Rule& confirm);
// For any decisive or strong message of the leaf, in a log that was not given.
Prospect ProspectOfMessages();
// Logarithm of odds that a true refute rule subtracts.
double RefutedBy(const Case& the_case, const knowledge::v1::Rule& refute);
// The weight that a further observation adds to the existing ones of the same witness.
double AddedBy(double weight, const Belief& belief, Witness witness);

class Beliefs {
 public:
  // A cause this probable is proven.
  static constexpr double kProven = 0.9;

  explicit Beliefs(const Case& the_case);

  // The belief in the leaf on the node that supports it most. The leaf must be in the knowledge.
  const Belief& Of(const knowledge::v1::Label& leaf) const;
  // The beliefs in the leaf on every node, in the order of the evidence.
  absl::Span<const Belief> OnNodes(const knowledge::v1::Label& leaf) const;
  // 0 to 1. With a proven cause: as a second cause, by the observations that the first does not
  // explain.
  double Probability(const knowledge::v1::Label& leaf) const;
  // The probability that none of the leaves is the cause.
  double NoneOfThese() const { return none_; }
  // Its probability if `belief`, the leaf on one node, were the only evidence for it.
  double ProbabilityThere(const Belief& belief) const;
  // The proven causes, in the order in which they were proven.
  const std::vector<const knowledge::v1::Label*>& proven() const { return proven_; }
  bool IsProven(const knowledge::v1::Label& leaf) const;
  // All leaves, the likeliest first.
  const std::vector<const knowledge::v1::Label*>& ranked() const { return ranked_; }

 private:
  struct Standing {
    std::vector<Belief> on_nodes;
    size_t best = 0;
    double probability = 0;
  };
  const Standing& Find(const knowledge::v1::Label& leaf) const;
  bool IsProvenBy(const knowledge::v1::Label& leaf, double probability) const;

  const Case case_;

  absl::flat_hash_map<const knowledge::v1::Label*, Standing> standings_;
  std::vector<const knowledge::v1::Label*> ranked_;
  std::vector<const knowledge::v1::Label*> proven_;
  double none_ = 1;
  double all_ = 0;  // sum of the odds of all leaves and of "none of these"
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_BELIEF_H_
