#ifndef COMMON_ADVISOR_YAML_FIELDS_H_
#define COMMON_ADVISOR_YAML_FIELDS_H_

#include <algorithm>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/host/yaml.h"

namespace galen::advisor {

// INVALID_ARGUMENT, naming the line, unless `map` is one and has these fields alone.
inline absl::Status CheckFields(const host::Yaml& map, absl::string_view file,
                                std::initializer_list<absl::string_view> known) {
  if (map.kind != host::Yaml::Kind::kMap) {
    return host::YamlError(map, file, "is no map of fields");
  }
  for (const host::Yaml::Field& field : map.fields) {
    if (std::find(known.begin(), known.end(), field.name) == known.end()) {
      return host::YamlError(
          field.value, file,
          absl::StrCat(field.name, ": unknown; there are ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

// INVALID_ARGUMENT, naming the line, unless `value` is a list or nothing at all.
inline absl::Status CheckList(const host::Yaml& value, absl::string_view file,
                              absl::string_view name) {
  if (value.kind == host::Yaml::Kind::kList || value.kind == host::Yaml::Kind::kNull) {
    return absl::OkStatus();
  }
  return host::YamlError(value, file,
                         absl::StrCat(name, ": is no list; write - before each entry"));
}

inline absl::StatusOr<std::string> NeededText(const host::Yaml& entry, absl::string_view file,
                                              absl::string_view name) {
  const host::Yaml* value = entry.Find(name);
  if (value == nullptr) return host::YamlError(entry, file, absl::StrCat("needs ", name));
  return host::YamlText(*value, file, name);
}

}  // namespace galen::advisor

#endif  // COMMON_ADVISOR_YAML_FIELDS_H_
