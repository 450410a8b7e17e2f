#include "bench/eval/runner/mode.h"

#include <algorithm>
#include <set>
#include <string>

namespace galen::eval {
namespace {

// Every name under which the answer is right.
std::set<std::string> TrueLabels(const v1::Case& a_case) {
  std::set<std::string> labels(a_case.labels().begin(), a_case.labels().end());
  labels.insert(a_case.labels_acceptable().begin(), a_case.labels_acceptable().end());
  return labels;
}

void RemoveTexts(const std::set<std::string>& texts,
                 google::protobuf::RepeatedPtrField<std::string>& from) {
  from.erase(std::remove_if(from.begin(), from.end(),
                            [&](const std::string& text) { return texts.count(text) > 0; }),
             from.end());
}

// Disables the checks that the confirm rules of `labels` depend on, and removes their messages that
// are more than weak evidence. Context confirms nothing and stays.
void WithholdChecks(const std::set<std::string>& labels, knowledge::v1::KnowledgeBase& base) {
  std::set<std::string> withheld;
  for (const knowledge::v1::Label& label : base.labels()) {
    if (labels.count(label.label()) == 0) continue;
    for (const knowledge::v1::Rule& rule : label.confirm()) {
      if (!rule.context()) withheld.insert(rule.check());
    }
  }
  for (knowledge::v1::Check& check : *base.mutable_checks()) {
    if (withheld.count(check.name()) > 0) check.set_off(true);
  }
  for (knowledge::v1::SignalPattern& signal : *base.mutable_signals()) {
    const bool own = std::any_of(signal.labels().begin(), signal.labels().end(),
                                 [&](const auto& label) { return labels.count(label) > 0; });
    if (own && signal.strength() >= galen::v1::STRONG) signal.clear_labels();
  }
}

// Removes the labels, and the inner ones that then have no child left.
void RemoveLabels(std::set<std::string> labels, knowledge::v1::KnowledgeBase& base) {
  auto& all = *base.mutable_labels();
  for (bool more = true; more;) {
    more = false;
    for (const knowledge::v1::Label& label : all) {
      const auto& children = label.children();
      if (children.empty() || labels.count(label.label()) > 0) continue;
      const bool bare = std::all_of(children.begin(), children.end(),
                                    [&](const auto& child) { return labels.count(child) > 0; });
      if (bare) more = labels.insert(label.label()).second || more;
    }
  }
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const auto& label) { return labels.count(label.label()) > 0; }),
            all.end());
  for (knowledge::v1::Label& label : all) {
    RemoveTexts(labels, *label.mutable_children());
    RemoveTexts(labels, *label.mutable_secondary_effects());
    RemoveTexts(labels, *label.mutable_confused_with());
  }
  // An unknown fault leaves unknown messages.
  auto& signals = *base.mutable_signals();
  signals.erase(std::remove_if(signals.begin(), signals.end(),
                               [&](const auto& signal) {
                                 return !signal.labels().empty() &&
                                        std::all_of(signal.labels().begin(), signal.labels().end(),
                                                    [&](const std::string& label) {
                                                      return labels.count(label) > 0;
                                                    });
                               }),
                signals.end());
  for (knowledge::v1::SignalPattern& signal : signals) {
    RemoveTexts(labels, *signal.mutable_labels());
  }
}

}  // namespace

absl::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kPlain:
      return "plain";
    case Mode::kUnseen:
      return "unseen";
    case Mode::kWithheld:
      return "withheld";
    case Mode::kOutside:
      return "outside";
    case Mode::kAnswered:
      return "answered";
    case Mode::kAnsweredAtRandom:
      return "answered at random";
    case Mode::kMeasured:
      return "measured";
  }
  return "";
}

void Restrict(Mode mode, const v1::Case& a_case, knowledge::v1::KnowledgeBase& base) {
  if (mode == Mode::kWithheld) WithholdChecks(TrueLabels(a_case), base);
  if (mode == Mode::kOutside) RemoveLabels(TrueLabels(a_case), base);
}

v1::Case Judged(Mode mode, v1::Case a_case) {
  if (mode == Mode::kOutside && !a_case.labels().empty()) a_case.set_outside(true);
  return a_case;
}

}  // namespace galen::eval
