#include "common/base/json_depth.h"

#include <cstddef>
#include <limits>

namespace galen {

bool JsonKeepsTo(const JsonLimits& limits, absl::string_view text) {
  int depth = 0;
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      // The first value of a list or an object; a comma begins each further one.
      if (++depth > limits.depth || ++values > limits.values) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && ++values > limits.values) {
      return false;
    }
  }
  return true;
}

bool JsonNestsDeeperThan(absl::string_view text, int most) {
  return !JsonKeepsTo({.depth = most, .values = std::numeric_limits<std::size_t>::max()}, text);
}

}  // namespace galen
