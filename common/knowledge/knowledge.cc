#include "common/knowledge/knowledge.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/re2_piece.h"
#include "re2/re2.h"

namespace galen::knowledge {
namespace {

std::string ErrorCodeKey(absl::string_view family, int code) {
  return absl::StrCat(family, "/", code);
}

template <typename Map>
typename Map::mapped_type FindOrNull(const Map& map, absl::string_view key) {
  const auto it = map.find(key);
  return it == map.end() ? nullptr : it->second;
}

// Bases that are built by hand name parents only, but the tree is walked by children.
void LinkChildren(v1::KnowledgeBase& base) {
  absl::flat_hash_map<std::string, v1::Label*> by_name;
  for (v1::Label& label : *base.mutable_labels()) by_name.emplace(label.label(), &label);
  absl::flat_hash_set<std::pair<std::string, std::string>> linked;
  for (const v1::Label& label : base.labels()) {
    for (const std::string& child : label.children()) linked.emplace(label.label(), child);
  }
  for (const v1::Label& label : base.labels()) {
    const auto parent = by_name.find(label.parent());
    if (label.parent().empty() || parent == by_name.end()) continue;
    if (linked.emplace(label.parent(), label.label()).second) {
      parent->second->add_children(label.label());
    }
  }
}

double CostSeconds(const v1::Check& check) {
  return static_cast<double>(check.cost().seconds()) +
         static_cast<double>(check.cost().nanos()) * 1e-9;
}

}  // namespace

Knowledge::Knowledge(v1::KnowledgeBase base) : base_(std::move(base)) {
  LinkChildren(base_);
  labels_.reserve(base_.labels_size());
  signals_.reserve(base_.signals_size());
  error_codes_.reserve(base_.error_codes_size());
  for (const v1::Label& label : base_.labels()) labels_.emplace(label.label(), &label);
  for (const v1::Check& check : base_.checks()) checks_.emplace(check.name(), &check);
  for (const v1::SignalPattern& signal : base_.signals()) signals_.emplace(signal.id(), &signal);
  for (const v1::ErrorCode& code : base_.error_codes()) {
    error_codes_.emplace(ErrorCodeKey(code.family(), code.code()), &code);
  }
  for (const v1::Hardware& hardware : base_.hardware()) {
    hardware_patterns_.push_back(std::make_unique<RE2>(hardware.match(), RE2::Quiet));
  }
  for (const auto& [name, label] : labels_) checks_for_.emplace(name, FindChecksFor(*label));
}

Knowledge::~Knowledge() = default;

const v1::Label* Knowledge::FindLabel(absl::string_view label) const {
  return FindOrNull(labels_, label);
}

const v1::Check* Knowledge::FindCheck(absl::string_view name) const {
  return FindOrNull(checks_, name);
}

const v1::FindingSpec* Knowledge::FindFinding(absl::string_view check,
                                              absl::string_view finding) const {
  const v1::Check* declared = FindCheck(check);
  if (declared == nullptr) return nullptr;
  for (const v1::FindingSpec& spec : declared->findings()) {
    if (spec.name() == finding) return &spec;
  }
  return nullptr;
}

const v1::SignalPattern* Knowledge::FindSignal(absl::string_view id) const {
  return FindOrNull(signals_, id);
}

const v1::ErrorCode* Knowledge::FindErrorCode(absl::string_view family, int code) const {
  return FindOrNull(error_codes_, ErrorCodeKey(family, code));
}

const v1::Prompt* Knowledge::FindPrompt(absl::string_view name) const {
  for (const v1::Prompt& prompt : base_.prompts()) {
    if (prompt.name() == name) return &prompt;
  }
  return nullptr;
}

const v1::Hardware* Knowledge::FindHardware(absl::string_view product) const {
  const re2::StringPiece text = Piece(product);
  for (int i = 0; i < base_.hardware_size(); ++i) {
    const RE2& pattern = *hardware_patterns_[i];
    if (pattern.ok() && RE2::PartialMatch(text, pattern)) return &base_.hardware(i);
  }
  return nullptr;
}

std::vector<const v1::Label*> Knowledge::Children(absl::string_view label) const {
  std::vector<const v1::Label*> children;
  if (label.empty()) {
    for (const v1::Label& each : base_.labels()) {
      if (each.parent().empty()) children.push_back(&each);
    }
    return children;
  }
  const v1::Label* parent = FindLabel(label);
  if (parent == nullptr) return children;
  for (const std::string& name : parent->children()) {
    if (const v1::Label* child = FindLabel(name); child != nullptr) children.push_back(child);
  }
  return children;
}

const std::vector<std::string>& Knowledge::ChecksFor(const v1::Label& label) const {
  static const auto* const none = new std::vector<std::string>;
  const auto it = checks_for_.find(label.label());
  return it == checks_for_.end() ? *none : it->second;
}

std::vector<std::string> Knowledge::FindChecksFor(const v1::Label& label) const {
  std::vector<const v1::Check*> checks;
  absl::flat_hash_set<const v1::Check*> seen;
  const auto add = [&](absl::string_view name) {
    const v1::Check* check = FindCheck(name);
    if (check != nullptr && !check->intrusive() && seen.insert(check).second) {
      checks.push_back(check);
    }
  };
  const auto add_rules = [&](const auto& rules) {
    for (const v1::Rule& rule : rules) {
      add(rule.check());
      for (const v1::Rule& with : rule.with()) add(with.check());
    }
  };
  if (IsLeaf(label)) {
    add_rules(label.confirm());
    add_rules(label.refute());
  } else {
    for (const std::string& name : label.first_checks()) add(name);
  }
  std::sort(checks.begin(), checks.end(), [](const v1::Check* a, const v1::Check* b) {
    return std::forward_as_tuple(CostSeconds(*a), a->name()) <
           std::forward_as_tuple(CostSeconds(*b), b->name());
  });
  std::vector<std::string> names;
  names.reserve(checks.size());
  for (const v1::Check* check : checks) names.push_back(check->name());
  return names;
}

}  // namespace galen::knowledge
