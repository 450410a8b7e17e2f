#ifndef COMMON_BASE_JSON_ACCESS_H_
#define COMMON_BASE_JSON_ACCESS_H_

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/json_depth.h"
#include "nlohmann/json.hpp"

namespace galen {

// Access to JSON of unknown origin: what is not there, or of another type, reads as nothing.

// The one parser of all JSON (tests/lint/json_parsers.py). The result is_discarded() when `text` is
// not JSON, or exceeds the limits, which also protect code that writes or copies a value, since it
// recurses once a level.
template <typename Json = nlohmann::json>
Json ParseJson(absl::string_view text, const JsonLimits& limits = {}) {
  if (!JsonKeepsTo(limits, text)) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, false);
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
