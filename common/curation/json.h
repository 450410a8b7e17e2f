#ifndef COMMON_CURATION_JSON_H_
#define COMMON_CURATION_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace galen::curation {

// `text` (UTF-8) as a JSON string with its quotes. Pure.
std::string JsonString(absl::string_view text);
std::string JsonStrings(const std::vector<std::string>& texts);  // a list of them

// An object on one line, its members in the order in which they were added.
class JsonObject {
 public:
  JsonObject& Add(absl::string_view name, absl::string_view text) {
    return AddRaw(name, JsonString(text));
  }
  JsonObject& Add(absl::string_view name, std::int64_t number);
  JsonObject& Add(absl::string_view name, const std::vector<std::string>& texts) {
    return AddRaw(name, JsonStrings(texts));
  }
  // `json` is a number, a list or an object.
  JsonObject& AddRaw(absl::string_view name, absl::string_view json);
  std::string Text() const;

 private:
  std::string inside_;
};

// For objects and the like: "[a, b]".
std::string JsonList(const std::vector<std::string>& json);

}  // namespace galen::curation

#endif  // COMMON_CURATION_JSON_H_
