#ifndef COMMON_KNOWLEDGE_YAML_DOCUMENT_H_
#define COMMON_KNOWLEDGE_YAML_DOCUMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/load.h"
#include "common/yaml/yaml.h"

namespace galen::knowledge {

using YamlNode = Yaml;

// Reads one YAML document of UTF-8 text, as galen::ReadYaml(). Nothing, and a problem that names
// file and line, when it cannot be read. `file` is for messages only.
std::optional<YamlNode> ReadYaml(absl::string_view text, const std::string& file,
                                 std::vector<Problem>& problems);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_YAML_DOCUMENT_H_
