#include "common/remediation/node_actions.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::remediation {
namespace {

constexpr std::int64_t kMostOut = 10'000;

// The part of a taint's key after its prefix: a label name of Kubernetes.
bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-';
  });
}

bool IsEffect(absl::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

absl::Status ParseTaint(const Yaml& taint, absl::string_view file, NodeAction& action) {
  for (const Yaml::Field& field : taint.fields) {
    if (field.name == "key") {
      GALEN_ASSIGN_OR_RETURN(action.taint_key, YamlText(field.value, file, field.name));
    } else if (field.name == "effect") {
      GALEN_ASSIGN_OR_RETURN(action.taint_effect, YamlText(field.value, file, field.name));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; a taint has key, effect"));
    }
  }
  absl::string_view name = action.taint_key;
  if (!absl::ConsumePrefix(&name, "galen.io/") || !IsName(name) || !IsEffect(action.taint_effect)) {
    return YamlError(taint, file,
                     "taint: needs a key galen.io/NAME and an effect, NoSchedule, "
                     "PreferNoSchedule or NoExecute");
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeAction> ParseAction(const Yaml& entry, absl::string_view file) {
  NodeAction action;
  std::string what;
  for (const Yaml::Field& field : entry.fields) {
    if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(action.name, YamlText(field.value, file, field.name));
    } else if (field.name == "do") {
      GALEN_ASSIGN_OR_RETURN(what, YamlText(field.value, file, field.name));
    } else if (field.name == "taint") {
      GALEN_RETURN_IF_ERROR(ParseTaint(field.value, file, action));
    } else if (field.name == "text") {
      GALEN_ASSIGN_OR_RETURN(action.text, YamlText(field.value, file, field.name));
    } else if (field.name == "labels") {
      GALEN_ASSIGN_OR_RETURN(action.labels, YamlTexts(field.value, file, field.name));
    } else {
      return YamlError(
          field.value, file,
          absl::StrCat(field.name, ": unknown; there are name, do, taint, text, labels"));
    }
  }
  if (what != "cordon" && what != "taint") {
    return YamlError(entry, file, "actions: `do` is cordon or taint");
  }
  action.what = what == "taint" ? NodeAction::Do::kTaint : NodeAction::Do::kCordon;
  if ((action.what == NodeAction::Do::kTaint) == action.taint_key.empty()) {
    return YamlError(entry, file, "actions: `taint` is for `do: taint`, and needed there");
  }
  if (action.name.empty() || action.labels.empty() || !absl::StrContains(action.text, "${node}")) {
    return YamlError(entry, file,
                     "actions: an entry needs a name, labels, and a text with ${node}");
  }
  return action;
}

}  // namespace

std::string NodeAction::TextFor(absl::string_view node, absl::string_view label) const {
  return absl::StrReplaceAll(text, {{"${node}", node}, {"${label}", label}});
}

bool NodeAction::IsFor(absl::string_view label) const {
  return std::any_of(labels.begin(), labels.end(), [label](const std::string& begin) {
    return label == begin || absl::StartsWith(label, absl::StrCat(begin, "."));
  });
}

const NodeAction* NodeActions::Find(absl::string_view name) const {
  const auto found = std::find_if(actions.begin(), actions.end(),
                                  [name](const NodeAction& one) { return one.name == name; });
  return found == actions.end() ? nullptr : &*found;
}

bool NodeActions::LooksAfter(absl::string_view name) const {
  const NodeAction* const how = Find(name);
  return how != nullptr && how->run.has_value() && !how->run->verify.empty();
}

absl::StatusOr<NodeActions> ParseNodeActions(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  NodeActions read;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "most") {
      GALEN_ASSIGN_OR_RETURN(const std::int64_t most, YamlInteger(field.value, file, field.name));
      if (most < 1 || most > kMostOut) {
        return YamlError(field.value, file, absl::StrCat("most: is not within 1 to ", kMostOut));
      }
      read.most = static_cast<int>(most);
    } else if (field.name == "actions") {
      for (const Yaml& entry : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(NodeAction action, ParseAction(entry, file));
        if (read.Find(action.name) != nullptr) {
          return YamlError(entry, file, absl::StrCat(action.name, ": is there twice"));
        }
        read.actions.push_back(std::move(action));
      }
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are most, actions"));
    }
  }
  if (read.most == 0 || read.actions.empty()) {
    return YamlError(yaml, file, "needs most and actions; see docs/kubernetes.md");
  }
  return read;
}

absl::StatusOr<NodeActions> LoadNodeActions(const std::vector<std::string>& directories,
                                            const std::vector<std::string>& offered) {
  NodeActions some;
  NodeActions all;
  const auto runs = [](const std::string& name) { return absl::StartsWith(name, "node."); };
  if (std::any_of(offered.begin(), offered.end(), runs)) {
    GALEN_ASSIGN_OR_RETURN(std::vector<RunAction> actions, LoadRunActions(directories));
    for (RunAction& action : actions) {
      NodeAction entry;
      entry.name = action.name;
      entry.what = NodeAction::Do::kRun;
      entry.text = action.text;
      entry.labels = action.labels;
      entry.run = std::move(action);
      all.actions.push_back(std::move(entry));
    }
  }
  if (!std::all_of(offered.begin(), offered.end(), runs)) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                           KnowledgeFiles(directories, "kubernetes/actions.yaml"));
    GALEN_ASSIGN_OR_RETURN(const NodeActions cluster,
                           ParseNodeActions(files.back().text, files.back().path));
    some.most = cluster.most;
    all.actions.insert(all.actions.end(), cluster.actions.begin(), cluster.actions.end());
  }
  for (const std::string& name : offered) {
    const NodeAction* action = all.Find(name);
    if (action == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the knowledge has no action ", name, "; there are ",
          absl::StrJoin(all.actions, ", ",
                        [](std::string* out, const NodeAction& one) { out->append(one.name); })));
    }
    if (some.Find(name) == nullptr) some.actions.push_back(*action);
  }
  return some;
}

}  // namespace galen::remediation
