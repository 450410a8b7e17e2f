#include "common/reasoner/critique.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/reasoner/explained.h"
#include "common/reasoner/wording.h"

namespace galen::reasoner {
namespace {

using galen::v1::CheckResult;
using galen::v1::Finding;
using galen::v1::Hypothesis;
using galen::v1::Signal;
using knowledge::v1::Label;
using knowledge::v1::Rule;

constexpr size_t kMaxLabels = 8;
// Maximum declared cost, in seconds, of the remaining checks of a look-alike that is always tested.
constexpr double kNextToNothingSeconds = 0.5;
constexpr int kMaxRemarks = 16;

bool AnyExplains(const Case& the_case, const std::vector<const Hypothesis*>& confirmed,
                 const auto&... evidence) {
  return std::any_of(confirmed.begin(), confirmed.end(), [&](const Hypothesis* each) {
    return Explains(the_case, *the_case.knowledge.FindLabel(each->label()), evidence...);
  });
}

// Unjudged leaves with evidence that no confirmed cause explains, the likeliest first.
std::vector<std::string> LeavesWithEvidence(const Case& the_case,
                                            const v1::CritiqueQuestion& question,
                                            const std::vector<const Hypothesis*>& confirmed) {
  const Beliefs beliefs(the_case);
  std::vector<std::string> labels;
  for (const Label* leaf : beliefs.ranked()) {
    if (WasJudged(question.judged(), leaf->label())) continue;
    const Belief& belief = beliefs.Of(*leaf);
    if (belief.IsOpposed() || !belief.HasEvidence()) continue;
    const bool novel = std::any_of(
        belief.observations.begin(), belief.observations.end(), [&](const Observation& each) {
          return each.witness == Witness::kMachine &&
                 std::any_of(each.entry.findings.begin(), each.entry.findings.end(),
                             [&](const Finding* finding) {
                               return !AnyExplains(the_case, confirmed, *finding,
                                                   *each.entry.result);
                             });
        });
    if (novel) labels.push_back(leaf->label());
  }
  return labels;
}

// The leaves that the leaf is confused with, closest first, then those that are confused with it.
std::vector<std::string> LookAlikes(const Case& the_case, const std::string& name) {
  std::vector<std::string> labels;
  const auto& nearest = the_case.knowledge.FindLabel(name)->confused_with();
  for (const std::string& other : nearest) {
    const Label* leaf = the_case.knowledge.FindLabel(other);
    if (leaf != nullptr && knowledge::IsLeaf(*leaf)) labels.push_back(other);
  }
  for (const Label* leaf : the_case.index.leaves()) {
    const auto& others = leaf->confused_with();
    if (std::find(others.begin(), others.end(), name) != others.end()) {
      labels.push_back(leaf->label());
    }
  }
  return labels;
}

// Whether a look-alike of a confirmed leaf justifies its checks: the confirmed leaf would be an
// effect of it, or there is some sign of it, or the checks cost next to nothing.
bool IsWorthAsking(const Case& the_case, const Label& confirmed, const Label& other) {
  if (ListsEffect(other, confirmed.label())) return true;
  for (const std::string& node : the_case.evidence.nodes()) {
    for (const Rule& rule : other.confirm()) {
      const Entry entry = EvaluateConfirm(the_case.knowledge, rule, the_case.evidence, node);
      if (entry.truth == knowledge::Truth::kTrue) return true;
    }
  }
  double cost = 0;
  for (const std::string& name : the_case.knowledge.ChecksFor(other)) {
    const bool asked = std::any_of(
        the_case.evidence.nodes().begin(), the_case.evidence.nodes().end(),
        [&](const std::string& node) { return the_case.evidence.Find(name, node) != nullptr; });
    if (!asked) cost += CostSeconds(the_case.knowledge, name);
  }
  return cost <= kNextToNothingSeconds;
}

void Add(const std::string& label, std::vector<std::string>& labels) {
  if (labels.size() < kMaxLabels &&
      std::find(labels.begin(), labels.end(), label) == labels.end()) {
    labels.push_back(label);
  }
}

}  // namespace

v1::CritiqueAnswer Critique(const Case& the_case, const v1::CritiqueQuestion& question) {
  const std::vector<const Hypothesis*> confirmed = Confirmed(the_case.knowledge, question.judged());
  std::vector<std::string> labels;
  for (const std::string& label : LeavesWithEvidence(the_case, question, confirmed)) {
    Add(label, labels);
  }
  v1::CritiqueAnswer answer;
  for (const CheckResult* result : the_case.evidence.results()) {
    if (result->status() != CheckResult::FAIL) continue;
    for (const Finding& finding : result->findings()) {
      if (!finding.abnormal() || AnyExplains(the_case, confirmed, finding, *result)) continue;
      if (answer.remarks_size() < kMaxRemarks) {
        answer.add_remarks(absl::StrCat(Describe(the_case.knowledge, finding, result->node()), " (",
                                        result->id(), ") is explained by no confirmed cause"));
      }
    }
  }
  for (const Signal& signal : the_case.evidence.summary().signals()) {
    if (signal.strength() != galen::v1::DECISIVE || signal.labels().empty() ||
        AnyExplains(the_case, confirmed, signal)) {
      continue;
    }
    for (const std::string& label : signal.labels()) {
      const Label* leaf = the_case.knowledge.FindLabel(label);
      if (leaf != nullptr && knowledge::IsLeaf(*leaf) && !WasJudged(question.judged(), label)) {
        Add(label, labels);
      }
    }
    if (answer.remarks_size() < kMaxRemarks) {
      answer.add_remarks(absl::StrCat(Describe(signal), " is explained by no confirmed cause"));
    }
  }
  for (const Hypothesis* each : confirmed) {
    for (const std::string& name : LookAlikes(the_case, each->label())) {
      if (WasJudged(question.judged(), name)) continue;
      const Label* leaf = the_case.knowledge.FindLabel(each->label());
      if (IsWorthAsking(the_case, *leaf, *the_case.knowledge.FindLabel(name))) Add(name, labels);
    }
  }
  for (const std::string& label : labels) answer.add_labels(label);
  return answer;
}

}  // namespace galen::reasoner
