#include "common/reasoner/rule_index.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace galen::reasoner {
namespace {

const RuleIndex::Labels& NoLabels() {
  static const auto& empty = *new RuleIndex::Labels();
  return empty;
}

// An effect may have a qualifier ("NCCL timeouts", "GPU.COMPUTE.SLOW_GPU symptoms"): the text
// before the first blank is the label, if it looks like one.
std::string Key(absl::string_view effect) {
  const size_t blank = effect.find(' ');
  if (blank != absl::string_view::npos && absl::StrContains(effect.substr(0, blank), '.')) {
    effect = effect.substr(0, blank);
  }
  return absl::AsciiStrToLower(effect);
}

}  // namespace

RuleIndex::RuleIndex(const knowledge::Knowledge& knowledge) {
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    if (!knowledge::IsLeaf(label)) continue;
    leaves_.push_back(&label);
    for (const knowledge::v1::Rule& rule : label.confirm()) {
      Labels& labels = confirming_[{rule.check(), rule.finding()}];
      if (labels.empty() || labels.back() != &label) labels.push_back(&label);
    }
  }
}

const RuleIndex::Labels& RuleIndex::Confirming(absl::string_view check,
                                               absl::string_view finding) const {
  const auto it = confirming_.find({std::string(check), std::string(finding)});
  return it == confirming_.end() ? NoLabels() : it->second;
}

std::string EffectName(const galen::v1::Finding& finding) {
  if (!finding.has_event_value() || finding.event_value().code().empty()) return "";
  return absl::AsciiStrToLower(absl::StrReplaceAll(
      absl::StrCat(finding.name(), " ", finding.event_value().code()), {{"_", " "}}));
}

bool ListsEffect(const knowledge::v1::Label& cause, absl::string_view effect) {
  const std::string key = Key(effect);
  return std::any_of(cause.secondary_effects().begin(), cause.secondary_effects().end(),
                     [&](const std::string& listed) { return Key(listed) == key; });
}

}  // namespace galen::reasoner
