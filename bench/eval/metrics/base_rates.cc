#include "bench/eval/metrics/base_rates.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/eval/corpus/leave_out.h"
#include "common/reasoner/rates.h"

namespace galen::eval {
namespace {

using knowledge::v1::BaseRate;

// The labels whose rule or message an observation is, by its name.
std::map<std::string, std::set<std::string>> Owners(const knowledge::Knowledge& knowledge) {
  std::map<std::string, std::set<std::string>> owners;
  for (const knowledge::v1::Label& label : knowledge.base().labels()) {
    for (const auto& rule : label.confirm()) {
      for (const bool on_some : {false, true}) {
        owners[reasoner::ObservationName(rule, on_some)].insert(label.label());
      }
    }
    for (const auto& rule : label.refute()) {
      owners[reasoner::RefutationName(rule)].insert(label.label());
    }
  }
  for (const knowledge::v1::SignalPattern& signal : knowledge.base().signals()) {
    for (const bool words : {false, true}) {
      owners[reasoner::MessageName(signal.id(), words)].insert(signal.labels().begin(),
                                                               signal.labels().end());
    }
  }
  return owners;
}

bool IsTrueOfOne(const v1::Case& a_case, const std::set<std::string>& labels) {
  for (const auto* names :
       {&a_case.labels(), &a_case.labels_acceptable(), &a_case.labels_secondary()}) {
    for (const std::string& name : *names) {
      if (labels.contains(name)) return true;
    }
  }
  return false;
}

}  // namespace

BaseRates::BaseRates(const knowledge::Knowledge& knowledge, const std::vector<v1::Case>& cases,
                     const std::vector<v1::CaseResult>& results) {
  const std::map<std::string, std::set<std::string>> owners = Owners(knowledge);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Share& share = shares_.emplace_back();
    share.id = cases[i].id();
    share.source = SourcePage(cases[i].source());
    for (const v1::Observed& observed : results[i].observed()) {
      const auto owner = owners.find(observed.name());
      if (owner != owners.end() && IsTrueOfOne(cases[i], owner->second)) continue;
      share.observed.push_back(observed);
    }
  }
}

template <typename Counts>
std::vector<BaseRate> BaseRates::Sum(const Counts& counts) const {
  const auto is_message = [](const std::string& name) {
    return name.starts_with(absl::StrCat(reasoner::kMessages, " ")) || name.starts_with("words ");
  };
  std::map<std::string, std::pair<int, int>> sums;  // seen, asked
  int cases = 0;
  for (const Share& share : shares_) {
    if (!counts(share)) continue;
    ++cases;
    for (const v1::Observed& observed : share.observed) {
      auto& [seen, asked] = sums[observed.name()];
      seen += observed.seen() ? 1 : 0;
      ++asked;
    }
  }
  // Every case is read for messages.
  sums[std::string(reasoner::kMessages)] = {0, cases};
  std::vector<BaseRate> rates;
  for (const auto& [name, counted] : sums) {
    BaseRate& rate = rates.emplace_back();
    rate.set_of(name);
    rate.set_seen(counted.first);
    rate.set_asked(is_message(name) ? cases : counted.second);
  }
  return rates;
}

std::vector<BaseRate> BaseRates::All() const {
  return Sum([](const Share&) { return true; });
}

std::vector<BaseRate> BaseRates::Without(const v1::Case& a_case) const {
  const std::string page = SourcePage(a_case.source());
  return Sum([&](const Share& share) {
    return share.id != a_case.id() && (page.empty() || share.source != page);
  });
}

std::string BaseRatesYaml(const std::vector<BaseRate>& rates) {
  std::string yaml =
      "# How often each observation was seen in incidents with another cause, or without one:\n"
      "# `galen-eval --base-rates` wrote this. docs/reasoner.md says how it is used.\n"
      "base_rates:\n";
  for (const BaseRate& rate : rates) {
    absl::StrAppend(&yaml, "  - {of: '", absl::StrReplaceAll(rate.of(), {{"'", "''"}}),
                    "', seen: ", rate.seen(), ", asked: ", rate.asked(), "}\n");
  }
  return yaml;
}

}  // namespace galen::eval
