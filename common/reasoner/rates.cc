#include "common/reasoner/rates.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/words.h"

namespace galen::reasoner {
namespace {

using knowledge::v1::Rule;

absl::string_view OpText(Rule::Op op) {
  for (const auto& word : knowledge::OpWords()) {
    if (word.value == op) return word.text;
  }
  return "";
}

}  // namespace

std::string ObservationName(const Rule& rule, bool on_some) {
  if (!rule.log().empty()) return absl::StrCat("log ", rule.log());
  std::string name =
      absl::StrCat(rule.check(), " ", rule.finding(), " ", OpText(rule.op()), " ", rule.value());
  if (on_some) absl::StrAppend(&name, " on some");
  for (const Rule& with : rule.with()) absl::StrAppend(&name, " with ", ObservationName(with));
  return name;
}

std::string RefutationName(const Rule& rule) {
  return absl::StrCat("against ", ObservationName(rule));
}

std::string MessageName(absl::string_view signal, bool words) {
  return absl::StrCat(words ? "words " : kMessages, words ? "" : " ", signal);
}

Rates::Rates(const knowledge::Knowledge& knowledge) {
  absl::flat_hash_map<std::string, Rate> rates;
  for (const knowledge::v1::BaseRate& each : knowledge.base().base_rates()) {
    rates.emplace(each.of(),
                  Rate{static_cast<double>(each.seen()), static_cast<double>(each.asked())});
  }
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    const auto add = [&](const Rule& rule, const std::string& name, auto& to) {
      if (const auto rate = rates.find(name); rate != rates.end()) to.emplace(&rule, rate->second);
    };
    for (const Rule& rule : label.confirm()) {
      add(rule, ObservationName(rule), rules_);
      add(rule, ObservationName(rule, true), on_some_);
    }
    for (const Rule& rule : label.refute()) add(rule, RefutationName(rule), rules_);
  }
  if (const auto all = rates.find(kMessages); all != rates.end()) unseen_message_ = all->second;
  messages_ = std::move(rates);
}

Rate Rates::Of(const Rule& rule, bool on_some) const {
  const auto& rates = on_some ? on_some_ : rules_;
  const auto rate = rates.find(&rule);
  return rate == rates.end() ? Rate() : rate->second;
}

Rate Rates::OfMessage(absl::string_view signal, bool words) const {
  const auto rate = messages_.find(MessageName(signal, words));
  return rate == messages_.end() ? unseen_message_ : rate->second;
}

}  // namespace galen::reasoner
