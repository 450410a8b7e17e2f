#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

using Kind = SwitchedOff::Kind;

constexpr absl::string_view kKeys[] = {"labels", "checks", "signals", "incidents"};

absl::string_view WordOf(Kind kind) {
  switch (kind) {
    case Kind::kLabel:
      return "label";
    case Kind::kCheck:
      return "check";
    case Kind::kSignal:
      return "signal";
    case Kind::kIncident:
      return "past incident";
  }
  return "entry";
}

std::vector<std::string> NamesOf(const Entries& entries, Kind kind) {
  std::vector<std::string> names;
  switch (kind) {
    case Kind::kLabel:
      for (const LabelEntry& entry : entries.labels) names.push_back(entry.label.label());
      break;
    case Kind::kCheck:
      for (const v1::Check& check : entries.checks) names.push_back(check.name());
      break;
    case Kind::kSignal:
      for (const v1::SignalPattern& signal : entries.signals) names.push_back(signal.id());
      for (const LabelEntry& entry : entries.labels) {
        for (std::size_t i = 0; i < entry.signals.size(); ++i) {
          names.push_back(InnerSignalId(entry, i));
        }
      }
      break;
    case Kind::kIncident:
      for (const v1::PastIncident& incident : entries.incidents) names.push_back(incident.id());
      break;
  }
  return names;
}

void Apply(const SwitchedOff& off, Entries& entries) {
  switch (off.kind) {
    case Kind::kLabel:
      entries.labels_off.push_back(off.name);
      return;
    case Kind::kCheck:
      for (v1::Check& check : entries.checks) {
        if (check.name() == off.name) check.set_off(true);
      }
      return;
    case Kind::kSignal:
      std::erase_if(entries.signals, [&](const auto& each) { return each.id() == off.name; });
      for (LabelEntry& entry : entries.labels) {
        for (std::size_t i = 0; i < entry.signals.size(); ++i) {
          // It keeps its place: the ids of the others count on it.
          if (InnerSignalId(entry, i) == off.name) entry.signals[i].clear_pattern();
        }
      }
      return;
    case Kind::kIncident:
      std::erase_if(entries.incidents, [&](const auto& each) { return each.id() == off.name; });
      return;
  }
}

bool IsBelow(absl::string_view label, absl::string_view ancestor) {
  return absl::StartsWith(label, absl::StrCat(ancestor, "."));
}

void Strip(google::protobuf::RepeatedPtrField<std::string>& names,
           const absl::flat_hash_set<std::string>& gone) {
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return gone.contains(name); }),
              names.end());
}

}  // namespace

std::string InnerSignalId(const LabelEntry& entry, std::size_t place) {
  if (!entry.signals[place].id().empty()) return entry.signals[place].id();
  return absl::StrCat(absl::AsciiStrToLower(entry.label.label()), ".", place + 1);
}

void ParseSwitchedOff(const FileContext& context, const Fields& file, Entries& entries) {
  const YamlNode* node = file.Find("off");
  if (node == nullptr) return;
  const Fields fields(context, *node, "list of what is switched off", kKeys);
  for (std::size_t kind = 0; kind < std::size(kKeys); ++kind) {
    const YamlNode* names = fields.Find(kKeys[kind]);
    if (names == nullptr) continue;
    const auto add = [&](const YamlNode& name) {
      if (name.kind != YamlNode::Kind::kScalar || name.scalar.empty()) {
        context.Error(name.line,
                      absl::StrCat("\"", kKeys[kind], "\" of off is not a list of names"),
                      "write `- NAME` lines");
        return;
      }
      SwitchedOff off{static_cast<Kind>(kind), name.scalar, {}};
      SetSource(context, name.line, off.source);
      entries.off.push_back(std::move(off));
    };
    if (names->kind == YamlNode::Kind::kList) {
      for (const YamlNode& name : names->items) add(name);
    } else {
      add(*names);
    }
  }
}

void SwitchOff(Entries& earlier, const std::vector<SwitchedOff>& off,
               std::vector<Problem>& problems) {
  for (const SwitchedOff& each : off) {
    const std::vector<std::string> known = NamesOf(earlier, each.kind);
    const std::vector<absl::string_view> names(known.begin(), known.end());
    if (Knows(names, each.name)) {
      Apply(each, earlier);
      continue;
    }
    problems.push_back(
        {Problem::Severity::kError, each.source.file(), each.source.line(),
         absl::StrCat("off: no earlier directory has the ", WordOf(each.kind), " ", each.name),
         Suggest(each.name, names,
                 "name an entry of a directory below this one, or remove the line")});
  }
}

void TakeOutLabels(Entries& entries) {
  if (entries.labels_off.empty()) return;
  absl::flat_hash_set<std::string> gone;
  absl::flat_hash_set<std::string> bereft;  // had a child that went
  for (const LabelEntry& entry : entries.labels) {
    const std::string& name = entry.label.label();
    const bool off =
        std::any_of(entries.labels_off.begin(), entries.labels_off.end(),
                    [&](const std::string& each) { return name == each || IsBelow(name, each); });
    if (!off) continue;
    gone.insert(name);
    bereft.insert(entry.label.parent());
  }
  // Deepest first, so that a parent whose last child goes here is seen to be bereft as well.
  std::vector<const v1::Label*> upwards;
  for (const LabelEntry& entry : entries.labels) upwards.push_back(&entry.label);
  std::stable_sort(upwards.begin(), upwards.end(), [](const v1::Label* a, const v1::Label* b) {
    return a->label().size() > b->label().size();
  });
  for (const v1::Label* label : upwards) {
    if (gone.contains(label->label()) || !bereft.contains(label->label())) continue;
    const bool has_child =
        std::any_of(entries.labels.begin(), entries.labels.end(), [&](const LabelEntry& entry) {
          return entry.label.parent() == label->label() && !gone.contains(entry.label.label());
        });
    if (has_child) continue;
    gone.insert(label->label());
    bereft.insert(label->parent());
  }
  std::erase_if(entries.labels,
                [&](const LabelEntry& entry) { return gone.contains(entry.label.label()); });
  std::erase_if(entries.incidents,
                [&](const v1::PastIncident& incident) { return gone.contains(incident.label()); });
  std::erase_if(entries.complaints, [&](const v1::Complaints& complaints) {
    return gone.contains(complaints.label());
  });
  for (LabelEntry& entry : entries.labels) {
    Strip(*entry.label.mutable_confused_with(), gone);
    Strip(*entry.label.mutable_secondary_effects(), gone);
  }
  for (v1::SignalPattern& signal : entries.signals) {
    Strip(*signal.mutable_labels(), gone);
    Strip(*signal.mutable_refutes(), gone);
  }
  for (v1::PastIncident& incident : entries.incidents) {
    Strip(*incident.mutable_labels_secondary(), gone);
  }
}

}  // namespace galen::knowledge
