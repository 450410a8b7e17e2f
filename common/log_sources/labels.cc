#include "common/log_sources/labels.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/yaml/knowledge_file.h"
#include "common/yaml/yaml.h"

namespace galen::log_sources {
namespace {

constexpr char kFile[] = "telemetry/logs.yaml";

struct Field {
  const char* name;
  std::vector<std::string> LabelNames::*names;
};
constexpr Field kFields[] = {{"node", &LabelNames::node},
                             {"name", &LabelNames::name},
                             {"part", &LabelNames::part},
                             {"message", &LabelNames::message}};

}  // namespace

absl::StatusOr<LabelNames> ParseLabelNames(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  GALEN_RETURN_IF_ERROR(YamlFields(yaml, file, {"node", "name", "part", "message"}));
  LabelNames labels;
  for (const Field& field : kFields) {
    const Yaml* const value = yaml.Find(field.name);
    if (value == nullptr) continue;
    GALEN_ASSIGN_OR_RETURN(labels.*field.names, YamlTexts(*value, file, field.name));
  }
  return labels;
}

absl::StatusOr<LabelNames> LoadLabelNames(const std::vector<std::string>& directories) {
  GALEN_ASSIGN_OR_RETURN(const std::vector<KnowledgeFile> files,
                         KnowledgeFiles(directories, kFile));
  LabelNames all;
  for (const KnowledgeFile& file : files) {
    GALEN_ASSIGN_OR_RETURN(LabelNames labels, ParseLabelNames(file.text, file.path));
    for (const Field& field : kFields) {
      std::vector<std::string>& names = labels.*field.names;
      std::vector<std::string>& known = all.*field.names;
      known.insert(known.begin(), std::make_move_iterator(names.begin()),
                   std::make_move_iterator(names.end()));
    }
  }
  return all;
}

std::string FirstOf(const std::vector<std::string>& names, const LabelOf& label) {
  for (const std::string& name : names) {
    if (std::string value = label(name); !value.empty()) return value;
  }
  return "";
}

}  // namespace galen::log_sources
