#ifndef COMMON_BASE_JSON_ACCESS_H_
#define COMMON_BASE_JSON_ACCESS_H_

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/json_depth.h"
#include "nlohmann/json.hpp"

namespace galen {

// Access to JSON of unknown origin: what is not there, or of another type, reads as nothing.

// The one parser of all JSON (tests/lint/json.py). A value that is_discarded() when `text` is no
// JSON, or does not keep to the limits: what writes or copies a value calls itself once a level.
template <typename Json = nlohmann::json>
Json ParseJson(absl::string_view text, const JsonLimits& limits = {}) {
  if (!JsonKeepsTo(limits, text)) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, false);
}

// The same for what decides who may do what: nothing, too, where parsers disagree, which is a name
// that an object has twice.
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

inline const nlohmann::json* At(const nlohmann::json& value,
                                std::initializer_list<const char*> path) {
  const nlohmann::json* at = &value;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

inline std::string TextAt(const nlohmann::json& value, std::initializer_list<const char*> path) {
  const nlohmann::json* at = At(value, path);
  return at != nullptr && at->is_string() ? at->get<std::string>() : std::string();
}

inline std::optional<double> NumberAt(const nlohmann::json& value,
                                      std::initializer_list<const char*> path) {
  const nlohmann::json* at = At(value, path);
  if (at == nullptr || !at->is_number()) return std::nullopt;
  const double number = at->get<double>();
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

inline std::optional<std::int64_t> IntAt(const nlohmann::json& value,
                                         std::initializer_list<const char*> path) {
  const std::optional<double> number = NumberAt(value, path);
  if (!number.has_value() || std::abs(*number) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

inline std::optional<bool> BoolAt(const nlohmann::json& value,
                                  std::initializer_list<const char*> path) {
  const nlohmann::json* at = At(value, path);
  if (at == nullptr || !at->is_boolean()) return std::nullopt;
  return at->get<bool>();
}

}  // namespace galen

#endif  // COMMON_BASE_JSON_ACCESS_H_
