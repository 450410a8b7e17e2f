#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kSections[] = {
    "labels",         "checks",     "signals",    "incidents",        "error_codes",
    "hardware",       "prompts",    "llm_prices", "llm_budgets",      "kernel_lines",
    "artefact_kinds", "base_rates", "complaints", "llm_calibrations", "off"};

template <typename Entry, typename NameOf>
void OverlayList(std::vector<Entry>& earlier, std::vector<Entry> later, NameOf name_of) {
  absl::flat_hash_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < earlier.size(); ++i) places.emplace(name_of(earlier[i]), i);
  for (Entry& entry : later) {
    const auto place = places.find(name_of(entry));
    if (place == places.end()) {
      earlier.push_back(std::move(entry));
      continue;
    }
    const std::size_t index = place->second;
    places.erase(place);  // a second entry of this name is a mistake that lint is to see
    earlier[index] = std::move(entry);
  }
}

template <typename Message>
void MoveInto(std::vector<Message>& from, google::protobuf::RepeatedPtrField<Message>& to) {
  to.Reserve(static_cast<int>(from.size()));
  for (Message& message : from) *to.Add() = std::move(message);
}

template <typename Field, typename Value>
void AddOnce(Field& field, const Value& value) {
  if (std::find(field.begin(), field.end(), value) == field.end()) *field.Add() = value;
}

void Merge(const v1::SignalPattern& from, v1::SignalPattern& into) {
  for (const std::string& label : from.labels()) AddOnce(*into.mutable_labels(), label);
  for (const int where : from.where()) AddOnce(*into.mutable_where(), where);
  into.set_strength(std::max(into.strength(), from.strength()));
}

// Signals without an id of their own are merged by pattern; the others only take theirs in.
void AssembleSignals(std::vector<LabelEntry>& labels, std::vector<v1::SignalPattern>& catalogue) {
  absl::flat_hash_map<std::string, std::size_t> by_pattern;
  for (std::size_t i = 0; i < catalogue.size(); ++i) by_pattern.emplace(catalogue[i].pattern(), i);
  for (LabelEntry& entry : labels) {
    for (std::size_t place = 0; place < entry.signals.size(); ++place) {
      v1::SignalPattern& signal = entry.signals[place];
      if (signal.pattern().empty()) continue;  // switched off
      const bool named = !signal.id().empty();
      const auto [same, added] = by_pattern.emplace(signal.pattern(), catalogue.size());
      if (!added && !named) {
        Merge(signal, catalogue[same->second]);
        continue;
      }
      signal.set_id(InnerSignalId(entry, place));
      catalogue.push_back(std::move(signal));
    }
  }
}

void LinkChildren(std::vector<LabelEntry>& labels) {
  absl::flat_hash_map<std::string, v1::Label*> by_name;
  for (LabelEntry& entry : labels) by_name.emplace(entry.label.label(), &entry.label);
  absl::flat_hash_set<std::string> linked;
  for (const LabelEntry& entry : labels) {
    const auto parent = by_name.find(entry.label.parent());
    if (parent == by_name.end() || !linked.insert(entry.label.label()).second) continue;
    parent->second->add_children(entry.label.label());
  }
}

}  // namespace

void ParseFile(absl::string_view text, const FileContext& context, Entries& entries) {
  const std::optional<YamlNode> root = ReadYaml(text, context.file, context.problems);
  if (!root.has_value() || root->kind == YamlNode::Kind::kNull) return;
  const Fields file(context, *root, "knowledge file", kSections);
  ParseLabels(context, file, entries);
  ParseChecks(context, file, entries);
  ParseSignals(context, file, entries);
  ParseIncidents(context, file, entries);
  ParseErrorCodes(context, file, entries);
  ParseHardware(context, file, entries);
  ParseKernelLines(context, file, entries);
  ParseArtefactKinds(context, file, entries);
  ParseBaseRates(context, file, entries);
  ParseComplaints(context, file, entries);
  ParsePrompts(context, file, entries);
  ParsePrices(context, file, entries);
  ParseBudgets(context, file, entries);
  ParseCalibrations(context, file, entries);
  ParseSwitchedOff(context, file, entries);
}

void Overlay(Entries& earlier, Entries later, std::vector<Problem>& problems) {
  SwitchOff(earlier, later.off, problems);
  for (const LabelEntry& entry : later.labels) std::erase(earlier.labels_off, entry.label.label());
  OverlayList(earlier.labels, std::move(later.labels),
              [](const LabelEntry& entry) { return entry.label.label(); });
  OverlayList(earlier.checks, std::move(later.checks),
              [](const v1::Check& check) { return check.name(); });
  OverlayList(earlier.signals, std::move(later.signals),
              [](const v1::SignalPattern& signal) { return signal.id(); });
  OverlayList(earlier.incidents, std::move(later.incidents),
              [](const v1::PastIncident& incident) { return incident.id(); });
  OverlayList(earlier.error_codes, std::move(later.error_codes), [](const v1::ErrorCode& code) {
    return absl::StrCat(code.family(), "/", code.code());
  });
  OverlayList(earlier.hardware, std::move(later.hardware),
              [](const v1::Hardware& hardware) { return hardware.model(); });
  OverlayList(earlier.kernel_lines, std::move(later.kernel_lines),
              [](const v1::KernelLine& line) { return line.id(); });
  OverlayList(earlier.artefact_kinds, std::move(later.artefact_kinds),
              [](const v1::ArtefactKind& kind) { return kind.id(); });
  OverlayList(earlier.base_rates, std::move(later.base_rates),
              [](const v1::BaseRate& rate) { return rate.of(); });
  OverlayList(earlier.complaints, std::move(later.complaints),
              [](const v1::Complaints& complaints) { return complaints.label(); });
  OverlayList(earlier.prompts, std::move(later.prompts),
              [](const v1::Prompt& prompt) { return prompt.name(); });
  OverlayList(earlier.llm_prices, std::move(later.llm_prices),
              [](const v1::LlmPrice& price) { return price.model(); });
  OverlayList(earlier.llm_budgets, std::move(later.llm_budgets),
              [](const v1::LlmBudget& budget) { return budget.scope(); });
  OverlayList(earlier.llm_calibrations, std::move(later.llm_calibrations),
              [](const v1::LlmCalibration& one) { return one.model() + " " + one.built_in(); });
}

v1::KnowledgeBase Assemble(Entries entries) {
  TakeOutLabels(entries);
  LinkChildren(entries.labels);
  AssembleSignals(entries.labels, entries.signals);
  v1::KnowledgeBase base;
  base.mutable_labels()->Reserve(static_cast<int>(entries.labels.size()));
  for (LabelEntry& entry : entries.labels) *base.add_labels() = std::move(entry.label);
  MoveInto(entries.checks, *base.mutable_checks());
  MoveInto(entries.signals, *base.mutable_signals());
  MoveInto(entries.incidents, *base.mutable_incidents());
  MoveInto(entries.error_codes, *base.mutable_error_codes());
  MoveInto(entries.hardware, *base.mutable_hardware());
  MoveInto(entries.kernel_lines, *base.mutable_kernel_lines());
  MoveInto(entries.artefact_kinds, *base.mutable_artefact_kinds());
  MoveInto(entries.base_rates, *base.mutable_base_rates());
  MoveInto(entries.complaints, *base.mutable_complaints());
  MoveInto(entries.prompts, *base.mutable_prompts());
  MoveInto(entries.llm_prices, *base.mutable_llm_prices());
  MoveInto(entries.llm_budgets, *base.mutable_llm_budgets());
  MoveInto(entries.llm_calibrations, *base.mutable_llm_calibrations());
  return base;
}

}  // namespace galen::knowledge
