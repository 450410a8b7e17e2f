#ifndef COMMON_BASE_JSON_STRICT_H_
#define COMMON_BASE_JSON_STRICT_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/json_depth.h"
#include "nlohmann/json.hpp"

namespace galen {

// ParseJson() for a text that decides who may do what: it discards, too, an object that has a name
// twice, of which one parser takes the first value and another one the last.
inline nlohmann::json ParseStrictJson(absl::string_view text, const JsonLimits& limits = {}) {
  using nlohmann::json;
  if (!JsonKeepsTo(limits, text)) return json(json::value_t::discarded);
  bool twice = false;
  std::vector<std::set<std::string>> names;
  const auto look = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end && !names.empty()) names.pop_back();
    if (event == json::parse_event_t::key && !names.empty()) {
      twice = !names.back().insert(parsed.get<std::string>()).second || twice;
    }
    return !twice;
  };
  json value = json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  return twice ? json(json::value_t::discarded) : value;
}

}  // namespace galen

#endif  // COMMON_BASE_JSON_STRICT_H_
