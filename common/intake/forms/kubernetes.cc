// kube_node: `kubectl describe node` (kubernetes/kubectl pkg/describe/describe.go, describeNode)
// and the YAML of a Node, whole or in part, as `kubectl get node NODE -o json` prints it: the name,
// the capacity, what is allocatable of it, and the condition Ready.
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/intake/forms/converters.h"
#include "common/intake/forms/pasted.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"

namespace galen::intake {
absl::StatusOr<Converted> KubeNode(absl::string_view text, absl::string_view) {
  static const RE2 section(R"(\s*(?i:(capacity|allocatable)):\s*)");
  static const RE2 amount(R"#(\s+"?([\w.\-]+/?[\w.\-]*)"?:\s+"?(\d+\w*)"?,?\s*)#");
  static const RE2 name(R"(\s*[Nn]ame:\s+([\w.\-]+)\s*)");
  static const RE2 ready(R"(\s+Ready\s+(True|False|Unknown)\s.*)");
  nlohmann::json node = {{"kind", "Node"}};
  nlohmann::json* amounts = nullptr;
  std::size_t indent = 0;
  bool any = false;
  std::string key;
  std::string value;
  for (const absl::string_view line : PastedLines(text)) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (RE2::FullMatch(Piece(line), section, &key)) {
      // The text may show two nodes, or one before and after: the first one counts.
      const std::string field = absl::AsciiStrToLower(key);
      if (node["status"].contains(field)) break;
      amounts = &(node["status"][field] = nlohmann::json::object());
      indent = IndentOf(line);
    } else if (amounts != nullptr && IndentOf(line) > indent &&
               RE2::FullMatch(Piece(line), amount, &key, &value)) {
      (*amounts)[key] = value;
      any = true;
    } else {
      amounts = nullptr;
      if (!node.contains("metadata") && RE2::FullMatch(Piece(line), name, &value)) {
        node["metadata"]["name"] = value;
      } else if (!node["status"].contains("conditions") &&
                 RE2::FullMatch(Piece(line), ready, &value)) {
        node["status"]["conditions"] = {{{"type", "Ready"}, {"status", value}}};
        any = true;
      }
    }
  }
  if (!any) return Unreadable("kube_node", "tells nothing of a node");
  return Converted{.text = node.dump()};
}

}  // namespace galen::intake
