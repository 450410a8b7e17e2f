#ifndef COMMON_LLM_SETTINGS_READER_H_
#define COMMON_LLM_SETTINGS_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/yaml/yaml.h"

namespace galen::llm {

// Reads the fields of a map in a settings file one by one. A field that is not there leaves its
// value as it is. Errors are INVALID_ARGUMENT "file:line: field: what; remedy".
class SettingsReader {
 public:
  // INVALID_ARGUMENT when the text is not a YAML map.
  static absl::StatusOr<SettingsReader> Open(absl::string_view text, absl::string_view file);

  bool Has(absl::string_view field) const;
  std::vector<std::string> names() const;

  absl::Status Text(absl::string_view field, std::string& value);
  absl::Status Bool(absl::string_view field, bool& value);
  // `value` becomes the place of the text in `choices`.
  absl::Status Choice(absl::string_view field, absl::Span<const absl::string_view> choices,
                      int& value);
  absl::Status Integer(absl::string_view field, int least, int most, int& value);
  absl::Status Number(absl::string_view field, double least, double most, double& value);
  // "none" takes the value away.
  absl::Status OptionalInteger(absl::string_view field, std::optional<std::int64_t>& value);
  absl::Status OptionalNumber(absl::string_view field, double least, double most,
                              std::optional<double>& value);
  // "500ms", "2s", "1m30s".
  absl::Status Duration(absl::string_view field, absl::Duration least, absl::Duration most,
                        absl::Duration& value);
  // The map in a field; an empty one when there is none.
  absl::StatusOr<SettingsReader> Map(absl::string_view field) const;

  // Fails at the first field that nobody asked for.
  absl::Status NothingElse() const;

  // The error at a field, or at this map when `field` is "".
  absl::Status Error(absl::string_view field, absl::string_view what) const;

 private:
  SettingsReader(std::shared_ptr<const Yaml> root, const Yaml* map, std::string file)
      : root_(std::move(root)), map_(map), file_(std::move(file)) {}

  // The scalar of a field; nullptr when it is not there or null.
  absl::StatusOr<const Yaml*> Scalar(absl::string_view field);

  std::shared_ptr<const Yaml> root_;
  const Yaml* map_;  // in *root_
  std::string file_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace galen::llm

#endif  // COMMON_LLM_SETTINGS_READER_H_
