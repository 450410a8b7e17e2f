#ifndef SERVICES_GATEWAY_API_PATH_TEMPLATE_H_
#define SERVICES_GATEWAY_API_PATH_TEMPLATE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::gateway {

// The path of a google.api.http rule: "/v1/{name=tenants/*/diagnoses/*}:cancel". A `*` is one
// segment; the value of a field in braces is the whole text of its segments. (`**` and nested
// fields are not in use, and refused.)
class PathTemplate {
 public:
  // INVALID_ARGUMENT.
  static absl::StatusOr<PathTemplate> Parse(absl::string_view text);

  // The fields of a path, by name; nothing if it does not match. Segments are percent-decoded one
  // by one; a decoded segment that is empty or has a "/" or a control character matches nothing.
  std::optional<std::map<std::string, std::string>> Match(absl::string_view path) const;

  // The fields, in order, with the pattern of each: {"name", "tenants/*/diagnoses/*"}.
  struct Field {
    std::string name;
    std::string pattern;
  };
  const std::vector<Field>& fields() const { return fields_; }
  const std::string& text() const { return text_; }

 private:
  struct Segment {
    std::string literal;  // "": any
    int field = -1;       // the field that it belongs to
  };
  std::string text_;
  std::vector<Segment> segments_;
  std::string verb_;
  std::vector<Field> fields_;
};

// "a%20b" -> "a b"; nothing if a % is not followed by two hexadecimal digits. In a query also "+"
// -> " ".
std::optional<std::string> PercentDecode(absl::string_view text, bool plus_is_space);

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_API_PATH_TEMPLATE_H_
