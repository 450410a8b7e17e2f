#include "common/reasoner/collect.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/reasoner/explained.h"
#include "common/reasoner/observation_weight.h"

namespace galen::reasoner {
namespace {

using galen::v1::Finding;
using galen::v1::Signal;
using knowledge::Truth;
using knowledge::v1::Label;
using knowledge::v1::Rule;

// Whether a check read one of these events in the line of the message.
bool IsOfOneLine(const std::vector<const Finding*>& findings, const Signal& signal) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding* finding) {
    if (!finding->has_event_value()) return false;
    const std::string& text = finding->event_value().text();
    return !text.empty() &&
           (absl::StrContains(signal.excerpt(), text) || absl::StrContains(text, signal.excerpt()));
  });
}

// Whether the message is known to be of another machine.
bool IsElsewhere(const Case& the_case, const Signal& signal, absl::string_view node) {
  return !signal.node().empty() && signal.node() != node && !the_case.evidence.nodes().empty();
}

// Collects the observations of one leaf on one node, one per check and line.
class Collector {
 public:
  void Add(std::string about, Observation observation) {
    if (!(observation.weight > 0)) return;
    const auto key = std::make_pair(observation.witness, std::move(about));
    const auto [it, is_new] = best_.emplace(key, observation);
    if (!is_new && observation.weight > it->second.weight) it->second = std::move(observation);
  }

  // A sign of an effect counts in addition to the leaf's own signs, unless the leaf has its own
  // rule or message for it.
  bool TakesEffect(const Observation& effect) const {
    bool has_own = false;
    for (const auto& [key, seen] : best_) {
      if (seen.witness == Witness::kEffect) continue;
      const std::vector<const Finding*>& own = seen.entry.findings;
      const std::vector<const Finding*>& its = effect.entry.findings;
      if (std::find_first_of(own.begin(), own.end(), its.begin(), its.end()) != own.end()) {
        return false;
      }
      if (effect.signal != nullptr && IsOfOneLine(own, *effect.signal)) return false;
      if (seen.signal != nullptr && IsOfOneLine(its, *seen.signal)) return false;
      if (effect.signal != nullptr && seen.signal != nullptr &&
          effect.signal->source() == seen.signal->source() &&
          effect.signal->first_line() == seen.signal->first_line()) {
        return false;
      }
      has_own =
          has_own || IsEvidence(seen) || (seen.signal != nullptr && seen.weight >= kWorthAWord);
    }
    return has_own;
  }

  std::vector<Observation> Take() {
    std::vector<Observation> all;
    for (auto& [key, observation] : best_) all.push_back(std::move(observation));
    std::stable_sort(all.begin(), all.end(), [](const Observation& a, const Observation& b) {
      return a.weight > b.weight;
    });
    return all;
  }

 private:
  std::map<std::pair<Witness, std::string>, Observation> best_;
};

// Adds a sign of an effect of the leaf. Only the weightiest sign of all its effects counts.
void AddEffect(const Case& the_case, Entry entry, Collector& collector) {
  if (KindOf(the_case, entry).base == kContext.base) return;
  Observation seen;
  seen.witness = Witness::kEffect;
  seen.weight = WeightOf(the_case, entry, kEffectStrength);
  seen.entry = std::move(entry);
  if (collector.TakesEffect(seen)) collector.Add("", std::move(seen));
}

// A message of an effect of the leaf, in a log of that node.
void AddEffect(const Case& the_case, const Signal& signal, absl::string_view node,
               Collector& collector) {
  if (signal.where() == galen::v1::DESCRIPTION) return;
  if (IsElsewhere(the_case, signal, node)) return;
  Observation seen;
  seen.witness = Witness::kEffect;
  seen.weight = WeightOf(the_case, signal, kEffectStrength);
  seen.signal = &signal;
  if (collector.TakesEffect(seen)) collector.Add("", std::move(seen));
}

// A logged event that the leaf lists as its effect and has no rule for, as others have.
void AddEvents(const Case& the_case, const Label& leaf, absl::string_view node,
               Collector& collector) {
  for (const EvidenceView::Event& event : the_case.evidence.events()) {
    if (event.result->node() != node || !ListsEffect(leaf, event.name)) continue;
    const auto confirms = [&](const Rule& rule) {
      return rule.check() == event.result->check() && rule.finding() == event.finding->name() &&
             knowledge::Compare(rule, *event.finding, *event.result) == Truth::kTrue;
    };
    if (std::any_of(leaf.confirm().begin(), leaf.confirm().end(), confirms) ||
        ComesBefore(the_case, leaf, *event.finding, *event.result)) {
      continue;
    }
    for (const Label* other :
         the_case.index.Confirming(event.result->check(), event.finding->name())) {
      for (const Rule& rule : other->confirm()) {
        if (!confirms(rule)) continue;
        Entry entry;
        entry.rule = &rule;
        entry.truth = Truth::kTrue;
        entry.result = event.result;
        entry.findings = {event.finding};
        AddEffect(the_case, std::move(entry), collector);
      }
    }
  }
}

void AddEffects(const Case& the_case, const Label& leaf, absl::string_view node,
                Collector& collector) {
  AddEvents(the_case, leaf, node, collector);
  for (const std::string& name : leaf.secondary_effects()) {
    const Label* effect = the_case.knowledge.FindLabel(name);
    if (effect == nullptr) continue;
    for (const Rule& rule : effect->confirm()) {
      if (rule.context() || LogsOnly(the_case, rule)) continue;
      Entry entry = EvaluateConfirm(the_case.knowledge, rule, the_case.evidence, node);
      if (entry.truth != Truth::kTrue) continue;
      const bool earlier =
          std::any_of(entry.findings.begin(), entry.findings.end(), [&](const Finding* finding) {
            return ComesBefore(the_case, leaf, *finding, *entry.result);
          });
      if (!earlier) AddEffect(the_case, std::move(entry), collector);
    }
    for (const Signal* signal : the_case.evidence.SignalsFor(name)) {
      AddEffect(the_case, *signal, node, collector);
    }
  }
}

void AddMessages(const Case& the_case, const Label& leaf, absl::string_view node,
                 Collector& collector) {
  const absl::Span<const Signal* const> signals = the_case.evidence.SignalsFor(leaf.label());
  // A message of a log that a person quotes as well counts once.
  const auto is_repeated = [&](const Signal& quoted) {
    return quoted.where() == galen::v1::DESCRIPTION &&
           std::any_of(signals.begin(), signals.end(), [&](const Signal* other) {
             return other->where() != galen::v1::DESCRIPTION &&
                    other->signal() == quoted.signal() && !IsElsewhere(the_case, *other, node);
           });
  };
  for (const Signal* signal : signals) {
    if (IsElsewhere(the_case, *signal, node) || is_repeated(*signal)) continue;
    Observation seen;
    seen.witness = IsWords(the_case, *signal)                 ? Witness::kPerson
                   : signal->where() == galen::v1::KERNEL_LOG ? Witness::kMachine
                                                              : Witness::kLog;
    seen.weight = WeightOf(the_case, *signal);
    seen.signal = signal;
    collector.Add(absl::StrCat(signal->source(), ":", signal->first_line()), std::move(seen));
  }
  if (const auto like = the_case.alike.find(leaf.label()); like != the_case.alike.end()) {
    Observation seen;
    seen.witness = Witness::kPerson;
    seen.weight = like->second.weight;
    seen.like = &like->second;
    collector.Add("description", std::move(seen));
  }
}

}  // namespace

Belief Collect(const Case& the_case, const Label& leaf, absl::string_view node) {
  Belief belief;
  belief.leaf = &leaf;
  belief.node = std::string(node);
  Collector collector;
  for (const Rule& rule : leaf.confirm()) {
    Entry entry = EvaluateConfirm(the_case.knowledge, rule, the_case.evidence, node);
    if (entry.truth == Truth::kFalse) {
      belief.absent.push_back(std::move(entry));
    } else if (entry.truth == Truth::kUnknown) {
      belief.unknown.push_back(std::move(entry));
    } else {
      Observation seen;
      seen.witness = LogsOnly(the_case, rule) ? Witness::kLog : Witness::kMachine;
      seen.weight = WeightOf(the_case, entry);
      seen.entry = std::move(entry);
      collector.Add(rule.check(), std::move(seen));
    }
  }
  for (const Rule& rule : leaf.refute()) {
    Entry entry = EvaluateRefute(the_case.knowledge, rule, the_case.evidence, node);
    if (entry.truth == Truth::kTrue) {
      belief.opposing.push_back(std::move(entry));
    } else if (entry.truth == Truth::kUnknown) {
      Entry part = EvaluateRefuteByPart(the_case.knowledge, rule, the_case.evidence, node);
      if (part.truth == Truth::kTrue) belief.opposing_in_part.push_back(std::move(part));
      belief.unknown.push_back(std::move(entry));
    }
  }
  for (const Signal* signal : the_case.evidence.SignalsAgainst(leaf.label())) {
    if (!IsElsewhere(the_case, *signal, node)) belief.denials.push_back(signal);
  }
  AddMessages(the_case, leaf, node, collector);
  AddEffects(the_case, leaf, node, collector);
  belief.observations = collector.Take();
  return belief;
}

}  // namespace galen::reasoner
