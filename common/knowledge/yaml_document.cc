#include "common/knowledge/yaml_document.h"

#include <utility>

namespace galen::knowledge {

std::optional<YamlNode> ReadYaml(absl::string_view text, const std::string& file,
                                 std::vector<Problem>& problems) {
  YamlNode root;
  std::optional<YamlFault> fault = galen::ReadYaml(text, root, /*text_only=*/true);
  if (!fault.has_value()) return root;
  problems.push_back({Problem::Severity::kError, file, fault->line, std::move(fault->what),
                      std::move(fault->remedy)});
  return std::nullopt;
}

}  // namespace galen::knowledge
