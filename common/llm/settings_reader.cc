#include "common/llm/settings_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"

namespace galen::llm {

absl::StatusOr<SettingsReader> SettingsReader::Open(absl::string_view text,
                                                    absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(Yaml parsed, ParseYaml(text, file));
  auto root = std::make_shared<const Yaml>(std::move(parsed));
  if (root->kind != Yaml::Kind::kMap) {
    return YamlError(*root, file, "is not a map of settings; begin with url: ...");
  }
  const Yaml* const map = root.get();
  return SettingsReader(std::move(root), map, std::string(file));
}

bool SettingsReader::Has(absl::string_view field) const { return map_->Find(field) != nullptr; }

std::vector<std::string> SettingsReader::names() const {
  std::vector<std::string> names;
  for (const Yaml::Field& field : map_->fields) names.push_back(field.name);
  return names;
}

absl::Status SettingsReader::Error(absl::string_view field, absl::string_view what) const {
  const Yaml* const value = field.empty() ? nullptr : map_->Find(field);
  return YamlError(value == nullptr ? *map_ : *value, file_,
                   field.empty() ? std::string(what) : absl::StrCat(field, ": ", what));
}

absl::StatusOr<const Yaml*> SettingsReader::Scalar(absl::string_view field) {
  asked_.emplace(field);
  const Yaml* const value = map_->Find(field);
  if (value == nullptr || value->kind == Yaml::Kind::kNull) return nullptr;
  if (value->kind != Yaml::Kind::kScalar)
    return Error(field, "is a list or a map; write one value");
  return value;
}

absl::Status SettingsReader::Text(absl::string_view field, std::string& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar != nullptr) value = scalar->scalar;
  return absl::OkStatus();
}

absl::Status SettingsReader::Bool(absl::string_view field, bool& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar != nullptr) {
    GALEN_ASSIGN_OR_RETURN(value, YamlBool(*scalar, file_, field));
  }
  return absl::OkStatus();
}

absl::Status SettingsReader::Choice(absl::string_view field,
                                    absl::Span<const absl::string_view> choices, int& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar == nullptr) return absl::OkStatus();
  const auto found = std::find(choices.begin(), choices.end(), scalar->scalar);
  if (found == choices.end()) {
    return Error(field, absl::StrCat("is none of ", absl::StrJoin(choices, ", ")));
  }
  value = static_cast<int>(found - choices.begin());
  return absl::OkStatus();
}

absl::Status SettingsReader::Integer(absl::string_view field, int least, int most, int& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar == nullptr) return absl::OkStatus();
  int number = 0;
  if (!absl::SimpleAtoi(scalar->scalar, &number) || number < least || number > most) {
    return Error(field, absl::StrCat("is not a whole number from ", least, " to ", most));
  }
  value = number;
  return absl::OkStatus();
}

absl::Status SettingsReader::Number(absl::string_view field, double least, double most,
                                    double& value) {
  std::optional<double> number = value;
  GALEN_RETURN_IF_ERROR(OptionalNumber(field, least, most, number));
  if (!number.has_value()) return Error(field, "must have a value");
  value = *number;
  return absl::OkStatus();
}

absl::Status SettingsReader::OptionalNumber(absl::string_view field, double least, double most,
                                            std::optional<double>& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar == nullptr) return absl::OkStatus();
  if (scalar->scalar == "none") {
    value.reset();
    return absl::OkStatus();
  }
  double number = 0;
  // Not a number is neither below nor above a limit.
  if (!absl::SimpleAtod(scalar->scalar, &number) || !(number >= least && number <= most)) {
    return Error(field, absl::StrCat("is not a number from ", least, " to ", most));
  }
  value = number;
  return absl::OkStatus();
}

absl::Status SettingsReader::OptionalInteger(absl::string_view field,
                                             std::optional<std::int64_t>& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar == nullptr) return absl::OkStatus();
  if (scalar->scalar == "none") {
    value.reset();
    return absl::OkStatus();
  }
  std::int64_t number = 0;
  if (!absl::SimpleAtoi(scalar->scalar, &number)) return Error(field, "is not a whole number");
  value = number;
  return absl::OkStatus();
}

absl::Status SettingsReader::Duration(absl::string_view field, absl::Duration least,
                                      absl::Duration most, absl::Duration& value) {
  GALEN_ASSIGN_OR_RETURN(const Yaml* const scalar, Scalar(field));
  if (scalar == nullptr) return absl::OkStatus();
  absl::Duration duration;
  if (!absl::ParseDuration(scalar->scalar, &duration) || duration < least || duration > most) {
    return Error(field, absl::StrCat("is not a time from ", absl::FormatDuration(least), " to ",
                                     absl::FormatDuration(most), "; write it as 500ms or 2s"));
  }
  value = duration;
  return absl::OkStatus();
}

absl::StatusOr<SettingsReader> SettingsReader::Map(absl::string_view field) const {
  static const Yaml* const kNone = [] {
    auto* none = new Yaml;
    none->kind = Yaml::Kind::kMap;
    return none;
  }();
  asked_.emplace(field);
  const Yaml* value = map_->Find(field);
  if (value == nullptr || value->kind == Yaml::Kind::kNull) value = kNone;
  if (value->kind != Yaml::Kind::kMap)
    return Error(field, "is not a map; write name: value below it");
  return SettingsReader(root_, value, file_);
}

absl::Status SettingsReader::NothingElse() const {
  for (const Yaml::Field& field : map_->fields) {
    if (asked_.find(field.name) == asked_.end()) {
      return Error(field.name, "is not known here; docs/llm.md lists the settings");
    }
  }
  return absl::OkStatus();
}

}  // namespace galen::llm
