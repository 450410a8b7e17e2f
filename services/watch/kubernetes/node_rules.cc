#include "services/watch/kubernetes/node_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::watch::kubernetes {
namespace {

bool IsType(absl::string_view type) {
  return absl::StartsWith(type, "Galen") && type.size() > 5 && type.size() <= 63 &&
         std::all_of(type.begin(), type.end(),
                     [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

absl::StatusOr<ConditionRule> ParseRule(const Yaml& entry, absl::string_view file) {
  ConditionRule rule;
  for (const Yaml::Field& field : entry.fields) {
    if (field.name == "type") {
      GALEN_ASSIGN_OR_RETURN(rule.type, YamlText(field.value, file, field.name));
    } else if (field.name == "labels") {
      GALEN_ASSIGN_OR_RETURN(rule.labels, YamlTexts(field.value, file, field.name));
    } else if (field.name == "title") {
      GALEN_ASSIGN_OR_RETURN(rule.title, YamlText(field.value, file, field.name));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are type, labels, title"));
    }
  }
  if (!IsType(rule.type) || rule.labels.empty() || rule.title.empty()) {
    return YamlError(entry, file,
                     "conditions: an entry needs a type that begins with Galen, labels, and "
                     "a title");
  }
  return rule;
}

absl::Status ParseGpus(const Yaml& gpus, absl::string_view file, NodeRules& rules) {
  for (const Yaml::Field& field : gpus.fields) {
    if (field.name == "labels") {
      GALEN_ASSIGN_OR_RETURN(rules.gpu_labels, YamlTexts(field.value, file, field.name));
    } else if (field.name == "resources") {
      GALEN_ASSIGN_OR_RETURN(rules.gpu_resources, YamlTexts(field.value, file, field.name));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are labels, resources"));
    }
  }
  for (const std::string& label : rules.gpu_labels) {
    if (absl::StrContains(label, '=')) continue;
    return YamlError(gpus, file, absl::StrCat("gpu_nodes: write ", label, "=VALUE"));
  }
  return absl::OkStatus();
}

}  // namespace

const ConditionRule* NodeRules::For(absl::string_view label) const {
  for (const ConditionRule& rule : conditions) {
    for (const std::string& begin : rule.labels) {
      if (label == begin || absl::StartsWith(label, absl::StrCat(begin, "."))) return &rule;
    }
  }
  return nullptr;
}

bool NodeRules::IsOurs(absl::string_view type) const {
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const ConditionRule& rule) { return rule.type == type; });
}

absl::StatusOr<NodeRules> ParseNodeRules(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  NodeRules rules;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "conditions") {
      for (const Yaml& entry : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(ConditionRule rule, ParseRule(entry, file));
        rules.conditions.push_back(std::move(rule));
      }
    } else if (field.name == "gpu_nodes") {
      GALEN_RETURN_IF_ERROR(ParseGpus(field.value, file, rules));
    } else {
      return YamlError(field.value, file,
                       absl::StrCat(field.name, ": unknown; there are conditions, gpu_nodes"));
    }
  }
  if (rules.conditions.empty()) {
    return YamlError(yaml, file, "names no conditions; see docs/kubernetes.md");
  }
  return rules;
}

absl::StatusOr<NodeRules> LoadNodeRules(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFiles(directories, "kubernetes/conditions.yaml"));
  return ParseNodeRules(files.back().text, files.back().path);
}

}  // namespace galen::watch::kubernetes
