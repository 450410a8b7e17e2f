#include "common/curation/json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace galen::curation {

std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (code < 0x20 || code == 0x7F) {
      absl::StrAppendFormat(&out, "\\u%04x", code);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string JsonStrings(const std::vector<std::string>& texts) {
  std::vector<std::string> json;
  for (const std::string& text : texts) json.push_back(JsonString(text));
  return JsonList(json);
}

std::string JsonList(const std::vector<std::string>& json) {
  return absl::StrCat("[", absl::StrJoin(json, ", "), "]");
}

JsonObject& JsonObject::Add(absl::string_view name, std::int64_t number) {
  return AddRaw(name, absl::StrCat(number));
}

JsonObject& JsonObject::AddRaw(absl::string_view name, absl::string_view json) {
  absl::StrAppend(&inside_, inside_.empty() ? "" : ", ", JsonString(name), ": ", json);
  return *this;
}

std::string JsonObject::Text() const { return absl::StrCat("{", inside_, "}"); }

}  // namespace galen::curation
