#include "common/reasoner/belief.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/nothing_wrong.h"
#include "common/reasoner/collect.h"
#include "common/reasoner/explained.h"
#include "common/reasoner/observation_weight.h"

namespace galen::reasoner {
namespace {

using galen::v1::Finding;
using galen::v1::Signal;
using knowledge::Truth;
using knowledge::v1::Label;
using knowledge::v1::Rule;

// Factor for the weight of words that read like a report when nothing is wrong, or unlike one.
constexpr double kOfNothingWrong = 0.5;
// Factor for the weight of words that make a leaf less likely.
constexpr double kOfUnlike = 0.4;
// Each further observation of one witness has this share of the weight of the one before.
constexpr double kFurther = 0.35;
// A check sees this share of the existing signs. Absent signs subtract at most this much.
constexpr double kSeenIfThere = 0.4;
constexpr double kMostAbsent = 2.0;
// How often a refutation occurs although the cause exists; guessed base of a refutation; the least
// that one refutation subtracts, and the most that all of them subtract.
constexpr double kRefutedThough = 0.1;
// The same for a fact that excludes the cause by definition: a machine without the part. Then it
// was misread, or read on another machine.
constexpr double kExcludedThough = 0.003;
// Share of a refutation by the part of an output that a person chose to show.
constexpr double kOfPart = 0.5;
constexpr double kRefutedBase = 0.4;
constexpr double kGuessedRefutations = 4;
constexpr double kLeastRefuted = 1.6;
// The base of a message that speaks against a leaf by its strength: how often it occurs with other
// causes. A person's words count for a part of it.
constexpr double kDeniedStrongly = 0.6;
constexpr double kDeniedWeakly = 0.25;
constexpr double kOfDenial = 0.5;
// The least for a rule that names another fault, which was seen: that fault explains the signs.
constexpr double kLeastByAnother = 3.0;
constexpr double kMostRefuted = 6.0;
// Log-odds of "none of these" before any evidence, and of a leaf that only names a manifestation.
constexpr double kNoneOfThese = 5.0;
constexpr double kResidual = -2.5;
// A second cause in one incident is rare, unless the fault itself was seen.
constexpr double kSecond = -4.0;
// Maximum number of leaves that are weighed in pairs, and of proven causes of one incident.
constexpr size_t kMostPaired = 8;
constexpr size_t kMostCauses = 4;
// Words prove nothing by themselves: without them a proven cause is still as likely as none of
// these, and they have at most this weight in a proof.
constexpr double kLeastWithoutWords = kNoneOfThese;
constexpr double kMostOfWords = 2.0;
constexpr double kLeastLead = 0.7;

double Prior(const Label& leaf) {
  double prior = leaf.residual() ? kResidual : 0;
  if (leaf.prior() == "high") prior += 0.3;
  if (leaf.prior() == "low") prior -= 0.3;
  return prior;
}

double Sum(absl::Span<const Observation> observations) {
  double sum = 0;
  for (const Witness witness :
       {Witness::kMachine, Witness::kLog, Witness::kPerson, Witness::kEffect}) {
    double share = 1;
    for (const Observation& each : observations) {
      if (each.witness != witness) continue;
      sum += share * each.weight;
      share *= kFurther;
    }
  }
  return sum;
}

double WithoutWords(const Belief& belief) {
  std::vector<Observation> others = belief.observations;
  std::erase_if(others, [](const Observation& each) { return each.witness == Witness::kPerson; });
  return Sum(others);
}

// Whether the cause has one sign that proves nothing alone, however rare it is: it may be unrelated
// to the incident. A message that is not decisive is one, even if words fit well, because they may
// report the same message; and a state that a check saw, unless words fit well. A defining
// fact and an event are not states.
bool IsLoneSign(const Belief& belief) {
  const Observation* lone = nullptr;
  bool words = false;
  for (const Observation& each : belief.observations) {
    if (each.witness == Witness::kPerson) {
      // Words that fit only a little fit many causes.
      words = words || each.weight >= kMostOfWords;
    } else if (each.weight >= kWorthAWord) {
      if (lone != nullptr) return false;
      lone = &each;
    }
  }
  if (lone == nullptr) return false;
  if (lone->signal != nullptr) return lone->signal->strength() != galen::v1::DECISIVE;
  const bool is_event =
      std::any_of(lone->entry.findings.begin(), lone->entry.findings.end(),
                  [](const Finding* finding) { return finding->has_event_value(); });
  return !words && !is_event && lone->entry.rule != nullptr && !lone->entry.rule->defining();
}

// Whether one sign of the machine or a log supports both.
bool ShareASign(const Belief& a, const Belief& b) {
  return std::any_of(a.observations.begin(), a.observations.end(), [&](const Observation& own) {
    if (!IsEvidence(own) || own.witness == Witness::kEffect) return false;
    return std::any_of(b.observations.begin(), b.observations.end(), [&](const Observation& each) {
      if (own.signal != nullptr) return each.signal == own.signal;
      return each.witness != Witness::kEffect && !own.entry.findings.empty() &&
             each.entry.findings == own.entry.findings;
    });
  });
}

double Against(const Case& the_case, const Belief& belief) {
  std::map<absl::string_view, double> absent;
  for (const Entry& entry : belief.absent) {
    const double strength = KindOf(the_case, entry).strength;
    double& least = absent[entry.rule->check()];
    least = std::min(least, std::log(1 - strength * kSeenIfThere));
  }
  // A check that saw another sign of the leaf does not count as silent.
  for (const Observation& each : belief.observations) {
    if (each.entry.rule != nullptr && each.witness != Witness::kEffect)
      absent.erase(each.entry.rule->check());
  }
  double sum = 0;
  for (const auto& [check, weight] : absent) sum += weight;
  double refuted = 0;
  for (const Entry& entry : belief.opposing) {
    const double by_another = NamesAnother(the_case, *belief.leaf, entry) ? -kLeastByAnother : 0;
    refuted += std::min(by_another, RefutedBy(the_case, *entry.rule));
  }
  for (const Entry& entry : belief.opposing_in_part) {
    const double share = entry.rule->defining() ? 1 : kOfPart;
    refuted += share * RefutedBy(the_case, *entry.rule);
  }
  // One line is one observation, however many patterns match it.
  std::map<std::pair<absl::string_view, std::int64_t>, double> denied;
  for (const Signal* denial : belief.denials) {
    const double base = denial->strength() == galen::v1::WEAK ? kDeniedWeakly : kDeniedStrongly;
    const double share = denial->where() == galen::v1::DESCRIPTION ? kOfDenial : 1;
    double& least = denied[{denial->source(), denial->first_line()}];
    least = std::min(least, share * std::log(kRefutedThough / base));
  }
  for (const auto& [line, weight] : denied) refuted += weight;
  return std::max(sum, -kMostAbsent) + std::max(refuted, -kMostRefuted);
}

// Whether the fault itself was seen.
bool HasDefining(const Belief& belief) {
  return std::any_of(belief.observations.begin(), belief.observations.end(),
                     [](const Observation& each) {
                       return each.entry.rule != nullptr && each.entry.rule->defining();
                     });
}

// The weight that words subtract from a leaf; nothing if the fault itself was seen.
double Unlike(const Case& the_case, const Belief& belief) {
  const auto like = the_case.alike.find(belief.leaf->label());
  if (like == the_case.alike.end() || HasDefining(belief)) return 0;
  return kOfUnlike * std::min(0.0, like->second.weight);
}

// The odds of "none of these": people write differently when nothing is wrong.
double OddsOfNone(const Case& the_case) {
  const auto nothing = the_case.alike.find(knowledge::kNothingWrong);
  if (nothing == the_case.alike.end()) return 1;
  return std::exp(kOfNothingWrong * nothing->second.weight);
}

double LogOdds(const Case& the_case, const Belief& belief) {
  return Prior(*belief.leaf) - kNoneOfThese + Sum(belief.observations) + Against(the_case, belief) +
         Unlike(the_case, belief);
}

// The log-odds of a second cause, given that `causes` are proven. Observations that they explain do
// not count, and neither do words, which described the first cause.
double LogOddsBeside(const Case& the_case, const Belief& belief,
                     absl::Span<const Label* const> causes) {
  Belief rest = belief;
  std::erase_if(rest.observations, [&](const Observation& each) {
    if (each.witness == Witness::kPerson || each.witness == Witness::kEffect) return true;
    return std::any_of(causes.begin(), causes.end(), [&](const Label* cause) {
      if (each.signal != nullptr) return Explains(the_case, *cause, *each.signal);
      if (each.entry.findings.empty()) return false;
      return std::all_of(each.entry.findings.begin(), each.entry.findings.end(),
                         [&](const Finding* finding) {
                           return Explains(the_case, *cause, *finding, *each.entry.result);
                         });
    });
  });
  return LogOdds(the_case, rest) + (HasDefining(rest) ? 0 : kSecond);
}

}  // namespace

bool IsEvidence(const Observation& observation) {
  return observation.witness != Witness::kPerson && observation.weight >= kWorthAWord;
}

bool Belief::HasEvidence() const {
  return std::any_of(observations.begin(), observations.end(), IsEvidence);
}

bool Belief::IsOpposed() const {
  return !opposing.empty() || std::any_of(denials.begin(), denials.end(), [](const Signal* denial) {
    return denial->where() != galen::v1::DESCRIPTION;
  });
}

Belief Weigh(const Case& the_case, const Label& leaf, absl::string_view node) {
  Belief belief = Collect(the_case, leaf, node);
  belief.log_odds = LogOdds(the_case, belief);
  return belief;
}

Prospect ProspectOf(const Case& the_case, const Rule& confirm) {
  Kind kind = kEvidence;
  const knowledge::v1::Check* check = the_case.knowledge.FindCheck(confirm.check());
  const knowledge::v1::FindingSpec* spec =
      the_case.knowledge.FindFinding(confirm.check(), confirm.finding());
  const bool has_limits =
      check != nullptr && std::any_of(check->findings().begin(), check->findings().end(),
                                      [](const auto& each) { return each.has_abnormal(); });
  const bool limited = spec != nullptr && (spec->has_abnormal() || spec->type() == "event");
  if (IsGeneral(confirm.check()) || (has_limits && !limited)) kind = kContext;
  if (confirm.with_size() > 0) kind = kConditional;
  if (confirm.context()) kind = kContext;
  if (confirm.defining()) kind = kDefining;
  const Rate all = the_case.rates.Of(confirm, /*on_some=*/false);
  const Rate some = the_case.rates.Of(confirm, /*on_some=*/true);
  double base = BaseOf({all.seen + some.seen, all.asked}, kind.base, kGuessedIncidents);
  if (confirm.context()) base = std::max(base, kLeastOfContext);
  Prospect prospect;
  prospect.if_cause = 1 - (1 - base) * (1 - kind.strength);
  prospect.otherwise = base;
  prospect.weight = WeightOf(kind.strength, base);
  prospect.if_absent = std::log(1 - kind.strength * kSeenIfThere);
  return prospect;
}

Prospect ProspectOfMessages() {
  Prospect prospect;
  prospect.if_cause = 1 - (1 - kStrongMessage.base) * (1 - kStrongMessage.strength);
  prospect.otherwise = kStrongMessage.base;
  prospect.weight = WeightOf(kStrongMessage.strength, kStrongMessage.base);
  return prospect;
}

double RefutedBy(const Case& the_case, const Rule& refute) {
  const double base = BaseOf(the_case.rates.Of(refute), kRefutedBase, kGuessedRefutations);
  const double though = refute.defining() ? kExcludedThough : kRefutedThough;
  return std::min(-kLeastRefuted, std::log(though / base));
}

double AddedBy(double weight, const Belief& belief, Witness witness) {
  std::vector<Observation> more = belief.observations;
  Observation seen;
  seen.witness = witness;
  seen.weight = weight;
  const auto place = std::find_if(more.begin(), more.end(),
                                  [&](const Observation& each) { return each.weight < weight; });
  more.insert(place, seen);
  return Sum(more) - Sum(belief.observations);
}

Beliefs::Beliefs(const Case& the_case) : case_(the_case) {
  std::vector<std::string> nodes = the_case.evidence.nodes();
  if (nodes.empty()) nodes.emplace_back();
  bool is_seen = false;
  for (const Label* leaf : the_case.index.leaves()) {
    Standing& standing = standings_[leaf];
    for (const std::string& node : nodes) {
      standing.on_nodes.push_back(Weigh(the_case, *leaf, node));
      if (standing.on_nodes.back().log_odds > standing.on_nodes[standing.best].log_odds) {
        standing.best = standing.on_nodes.size() - 1;
      }
    }
    all_ += std::exp(standing.on_nodes[standing.best].log_odds);
    is_seen = is_seen || HasDefining(standing.on_nodes[standing.best]);
    ranked_.push_back(leaf);
  }
  // Words do not outweigh a fault that was seen.
  const double none = is_seen ? std::min(1.0, OddsOfNone(the_case)) : OddsOfNone(the_case);
  all_ += none;
  const auto odds = [&](const Label* leaf) {
    const Standing& standing = standings_.at(leaf);
    return standing.on_nodes[standing.best].log_odds;
  };
  std::stable_sort(ranked_.begin(), ranked_.end(),
                   [&](const Label* a, const Label* b) { return odds(a) > odds(b); });
  // One cause, two independent ones, or none.
  std::map<const Label*, double> in_pairs;
  double pairs = 0;
  const auto beside = [&](const Label* leaf, absl::Span<const Label* const> causes) {
    double best = 0;
    for (const Belief& belief : standings_.at(leaf).on_nodes) {
      best = std::max(best, std::exp(LogOddsBeside(the_case, belief, causes)));
    }
    return best;
  };
  for (size_t i = 0; i < std::min(ranked_.size(), kMostPaired); ++i) {
    for (size_t j = i + 1; j < std::min(ranked_.size(), kMostPaired); ++j) {
      const double both = std::exp(odds(ranked_[i])) * beside(ranked_[j], {ranked_[i]});
      in_pairs[ranked_[i]] += both;
      in_pairs[ranked_[j]] += both;
      pairs += both;
    }
  }
  none_ = none / (all_ + pairs);
  for (const Label* leaf : ranked_) {
    Standing& standing = standings_.at(leaf);
    standing.probability = (std::exp(odds(leaf)) + in_pairs[leaf]) / (all_ + pairs);
    if (IsProvenBy(*leaf, standing.probability)) proven_.push_back(leaf);
  }
  // Further causes, as long as the remaining evidence proves another one.
  bool more = !proven_.empty();
  while (more && proven_.size() < kMostCauses) {
    const std::vector<const Label*> causes = proven_;
    double all = 1;
    std::map<const Label*, double> rest;
    for (const Label* leaf : ranked_) {
      if (IsProven(*leaf)) continue;
      rest[leaf] = beside(leaf, causes);
      all += rest[leaf];
    }
    more = false;
    for (const auto& [leaf, odds_beside] : rest) {
      standings_.at(leaf).probability = odds_beside / all;
      if (odds_beside / all < kProven) continue;
      proven_.push_back(leaf);
      more = true;
    }
  }
}

// Words prove nothing: they count up to a limit, and do not decide between causes that the same
// sign supports.
bool Beliefs::IsProvenBy(const Label& leaf, double probability) const {
  const Belief& own = Of(leaf);
  if (WithoutWords(own) < kLeastWithoutWords || IsLoneSign(own)) return false;
  const double words = Sum(own.observations) - WithoutWords(own);
  const double odds_of_proof = probability * std::exp(-std::max(words - kMostOfWords, 0.0));
  if (odds_of_proof < kProven * (odds_of_proof + 1 - probability)) return false;
  const auto odds = [&](const Belief& belief) {
    return Prior(*belief.leaf) + WithoutWords(belief) + Against(case_, belief);
  };
  return std::none_of(ranked_.begin(), ranked_.end(), [&](const Label* other) {
    const Belief& rival = Of(*other);
    return other != &leaf && ShareASign(own, rival) && odds(rival) > odds(own) - kLeastLead;
  });
}

const Beliefs::Standing& Beliefs::Find(const Label& leaf) const { return standings_.at(&leaf); }

const Belief& Beliefs::Of(const Label& leaf) const {
  const Standing& standing = Find(leaf);
  return standing.on_nodes[standing.best];
}

absl::Span<const Belief> Beliefs::OnNodes(const Label& leaf) const { return Find(leaf).on_nodes; }

double Beliefs::Probability(const Label& leaf) const { return Find(leaf).probability; }

double Beliefs::ProbabilityThere(const Belief& belief) const {
  const double others = all_ - std::exp(Of(*belief.leaf).log_odds);
  const double odds = std::exp(belief.log_odds);
  return odds / (odds + others);
}

bool Beliefs::IsProven(const Label& leaf) const {
  return std::find(proven_.begin(), proven_.end(), &leaf) != proven_.end();
}

}  // namespace galen::reasoner
