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
  // Leaves that the words of the report speak for.
  const Likeness& alike;
};

// The source of an observation. Several observations of one source tell little more than one.
enum class Witness {
  kMachine,
  kLog,
  kPerson,
  kEffect,  // another leaf that this one lists as its effect, and that shows by itself
};

// One thing that was seen and speaks for a leaf.
struct Observation {
  Witness witness = Witness::kMachine;
  // Logarithm of how many times likelier it is beside this cause than without it; above 0.
  double weight = 0;
  // A true confirm rule of the leaf, or of an effect that it lists; or a message; or the likeness
  // of the report to what people tell of the leaf.
  Entry entry;
  const galen::v1::Signal* signal = nullptr;
  const Like* like = nullptr;
};

// More than the words of a person, and more than healthy machines show.
bool IsEvidence(const Observation& observation);

// A leaf on one node.
struct Belief {
  const knowledge::v1::Label* leaf = nullptr;
  std::string node;
  std::vector<Observation> observations;  // the weightiest first
  std::vector<Entry> opposing;            // refute rules that are true
  std::vector<Entry> absent;              // confirm rules that are definitely false
  std::vector<Entry> unknown;             // rules of both kinds that cannot be told
  // Logarithm of its odds against there being no cause that the knowledge knows.
  double log_odds = 0;

  // Is more than the words of a person behind it?
  bool HasEvidence() const;
};

// How likely each leaf is the cause of an incident, given everything that was seen. The model is
// stated in docs/reasoner.md: each leaf is weighed alone (Weigh), all of them and "none of these"
// share the probability of 1, and what a proven cause accounts for proves no second one.
//
// Weigh() and the class are pure; a Beliefs refers to its Case.
Belief Weigh(const Case& the_case, const knowledge::v1::Label& leaf, absl::string_view node);

// What an observation that nobody has made yet would tell, by the same model.
struct Prospect {
  double if_cause = 0;   // probability of seeing it beside the cause
  double otherwise = 0;  // and beside any other one
  double weight = 0;     // logarithm of odds for the cause, once it is seen
  double if_absent = 0;  // the same once it was looked for and is not there; 0 or below
};
// Of a confirm rule that cannot be told yet.
Prospect ProspectOf(const Case& the_case, const knowledge::v1::Rule& confirm);
// Of any decisive or strong message of the leaf, in a log that was not given.
Prospect ProspectOfMessages();
// Logarithm of odds that a refute rule takes once it is true.
double RefutedBy(const Case& the_case, const knowledge::v1::Rule& refute);
// What a further observation of one witness adds to those that it has made already.
double AddedBy(double weight, const Belief& belief, Witness witness);

class Beliefs {
 public:
  // A cause this probable is proven.
  static constexpr double kProven = 0.9;

  explicit Beliefs(const Case& the_case);

  // The leaf on the node that speaks most for it. Of a leaf of the knowledge.
  const Belief& Of(const knowledge::v1::Label& leaf) const;
  // The same on every node, in the order of the evidence.
  absl::Span<const Belief> OnNodes(const knowledge::v1::Label& leaf) const;
  // 0 to 1. Beside a proven cause: as a second one, by what the first does not account for.
  double Probability(const knowledge::v1::Label& leaf) const;
  // How probable it would be if `belief`, the leaf on one node, were all that is known of it.
  double ProbabilityThere(const Belief& belief) const;
  // The proven causes, the first one first.
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
  double all_ = 1;  // sum of the odds of all leaves and of none
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_BELIEF_H_
