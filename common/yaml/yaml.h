#ifndef COMMON_YAML_YAML_H_
#define COMMON_YAML_YAML_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen {

// A value of a YAML document, with its line. Plain data; nothing in it throws.
struct Yaml {
  enum class Kind { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string scalar;
  struct Field;
  std::vector<Yaml> items;    // kList
  std::vector<Field> fields;  // kMap, in the document's order, keys unique
  int line = 1;               // 1 and up
  int key_line = 0;           // of its key, as the value of a map

  // The field of a map; null when this is not a map or has no such field.
  const Yaml* Find(absl::string_view key) const;
};

struct Yaml::Field {
  std::string name;
  Yaml value;
};

inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;

// Why a text is not read.
struct YamlFault {
  int line = 0;  // 0: the text as a whole
  std::string what;
  std::string remedy;
};

// Reads one YAML document of a hostile author into `root`. A fault when it is not YAML, is larger
// than kMaxYamlBytes, nests deeper than 64 levels, has more than 1,000,000 values, repeats a key,
// has more than one document, or uses anchors and aliases; with `text_only` also when it or one of
// its values is not UTF-8 or has a NUL. An empty text is a null value.
std::optional<YamlFault> ReadYaml(absl::string_view text, Yaml& root, bool text_only = false);

// The same; INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<Yaml> ParseYaml(absl::string_view text, absl::string_view file);

// Readers of single values. Errors are INVALID_ARGUMENT "file:line: field: what; remedy".
absl::StatusOr<std::string> YamlText(const Yaml& value, absl::string_view file,
                                     absl::string_view field);
absl::StatusOr<std::int64_t> YamlInteger(const Yaml& value, absl::string_view file,
                                         absl::string_view field);
absl::StatusOr<bool> YamlBool(const Yaml& value, absl::string_view file, absl::string_view field);
// A null value is an empty list or map.
absl::StatusOr<std::vector<std::string>> YamlTexts(const Yaml& value, absl::string_view file,
                                                   absl::string_view field);
absl::StatusOr<std::map<std::string, std::string>> YamlTextMap(const Yaml& value,
                                                               absl::string_view file,
                                                               absl::string_view field);

// The entries of a list that is a field: none when the field is missing or null. Any other value is
// an error: somebody forgot a dash.
absl::StatusOr<absl::Span<const Yaml>> YamlItems(const Yaml& map, absl::string_view file,
                                                 absl::string_view field);
// The text of a field that has to be there.
absl::StatusOr<std::string> YamlNeeded(const Yaml& map, absl::string_view file,
                                       absl::string_view field);
// An error unless `map` is a map with no other fields than these.
absl::Status YamlFields(const Yaml& map, absl::string_view file,
                        absl::Span<const absl::string_view> known);

// The error of a value that is well-formed YAML but not what the format asks for.
absl::Status YamlError(const Yaml& at, absl::string_view file, absl::string_view what);

// `text` as a double-quoted YAML scalar that ParseYaml reads back byte for byte where it is UTF-8;
// bytes that are not become U+FFFD.
std::string YamlQuote(absl::string_view text);

}  // namespace galen

#endif  // COMMON_YAML_YAML_H_
