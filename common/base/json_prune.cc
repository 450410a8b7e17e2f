#include "common/base/json_prune.h"

#include <cstddef>

namespace galen {

std::string PrunedJson(absl::string_view text, int most) {
  std::string pruned;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool too_deep = depth > most;
    if (in_string) {
      if (c == '\\' && i + 1 < text.size()) {
        if (!too_deep) pruned += c;
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth == most + 1) pruned += "null";
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
    if (!too_deep && depth <= most) pruned += text[i];
  }
  return pruned;
}

}  // namespace galen
