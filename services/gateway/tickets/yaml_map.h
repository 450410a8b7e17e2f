#ifndef SERVICES_GATEWAY_TICKETS_YAML_MAP_H_
#define SERVICES_GATEWAY_TICKETS_YAML_MAP_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/yaml/yaml.h"

namespace galen::gateway::tickets {

// Reads the fields of a map in a file that a person wrote, one by one; a missing field leaves its
// value unchanged. The first problem is kept, as "file:line: what", and NothingElse() returns it:
// so a reader is a list of lines.
class YamlMap {
 public:
  // `yaml` and `file` must outlive it.
  YamlMap(const Yaml& yaml, absl::string_view file, absl::string_view what);

  void Text(absl::string_view field, std::string& value, bool required = false);
  void Texts(absl::string_view field, std::vector<std::string>& value);
  // In the order of the file.
  void TextMap(absl::string_view field, std::vector<std::pair<std::string, std::string>>& value);
  void Bool(absl::string_view field, bool& value);
  void Integer(absl::string_view field, std::int64_t least, std::int64_t most, int& value);
  void Size(absl::string_view field, std::size_t& value);
  void Duration(absl::string_view field, absl::Duration least, absl::Duration most,
                absl::Duration& value);
  // Null when it is not there.
  const Yaml* Node(absl::string_view field);

  // Records a problem with a field, or with this map for "".
  void Wrong(absl::string_view field, absl::string_view what);
  void Wrong(const absl::Status& status);
  // The first problem; or a field that nobody asked for.
  absl::Status NothingElse();

 private:
  const Yaml& yaml_;
  const absl::string_view file_;
  std::set<std::string> asked_;
  absl::Status wrong_;
};

}  // namespace galen::gateway::tickets

#endif  // SERVICES_GATEWAY_TICKETS_YAML_MAP_H_
