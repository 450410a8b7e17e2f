#ifndef COMMON_KNOWLEDGE_YAML_DOCUMENT_H_
#define COMMON_KNOWLEDGE_YAML_DOCUMENT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/knowledge/load.h"

namespace galen::knowledge {

inline constexpr std::size_t kMaxYamlBytes = 16 << 20;
inline constexpr int kMaxYamlDepth = 64;
inline constexpr std::size_t kMaxYamlNodes = 1'000'000;

// A part of a YAML file with the line it stands on. A plain tree: there are no anchors or aliases.
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  int line = 0;                 // 1 and up
  std::string scalar;           // kScalar
  std::vector<YamlNode> items;  // kSequence: the items; kMap: the values
  std::vector<YamlNode> keys;   // kMap: the keys, beside `items`; all scalars, each once
};

// Reads one YAML document. Nothing, and a problem that names file and line, when the text is too
// large, not UTF-8, malformed, nested deeper than kMaxYamlDepth, or uses anchors, aliases or a
// second document. An empty text is a null node. `file` is for messages only.
std::optional<YamlNode> ReadYaml(absl::string_view text, const std::string& file,
                                 std::vector<Problem>& problems);

}  // namespace galen::knowledge

#endif  // COMMON_KNOWLEDGE_YAML_DOCUMENT_H_
