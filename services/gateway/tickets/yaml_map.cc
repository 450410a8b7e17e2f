#include "services/gateway/tickets/yaml_map.h"

#include "absl/strings/str_cat.h"

namespace galen::gateway::tickets {

YamlMap::YamlMap(const Yaml& yaml, absl::string_view file, absl::string_view what)
    : yaml_(yaml), file_(file) {
  if (yaml.kind != Yaml::Kind::kMap) {
    wrong_ = YamlError(yaml, file, absl::StrCat(what, ": is not a map of fields"));
  }
}

const Yaml* YamlMap::Node(absl::string_view field) {
  asked_.insert(std::string(field));
  const Yaml* node = yaml_.Find(field);
  return node == nullptr || node->kind == Yaml::Kind::kNull ? nullptr : node;
}

void YamlMap::Wrong(const absl::Status& status) {
  if (wrong_.ok()) wrong_ = status;
}

void YamlMap::Wrong(absl::string_view field, absl::string_view what) {
  const Yaml* node = field.empty() ? nullptr : yaml_.Find(field);
  Wrong(YamlError(node == nullptr ? yaml_ : *node, file_,
                  absl::StrCat(field, field.empty() ? "" : ": ", what)));
}

void YamlMap::Text(absl::string_view field, std::string& value, bool required) {
  const Yaml* node = Node(field);
  if (node == nullptr) {
    if (required) Wrong("", absl::StrCat(field, ": is not there; add it"));
    return;
  }
  absl::StatusOr<std::string> text = YamlText(*node, file_, field);
  if (!text.ok()) return Wrong(text.status());
  value = *std::move(text);
  if (required && value.empty()) Wrong(field, "is empty");
}

void YamlMap::Texts(absl::string_view field, std::vector<std::string>& value) {
  const Yaml* node = Node(field);
  if (node == nullptr) return;
  absl::StatusOr<std::vector<std::string>> texts = YamlTexts(*node, file_, field);
  if (!texts.ok()) return Wrong(texts.status());
  value = *std::move(texts);
}

void YamlMap::TextMap(absl::string_view field,
                      std::vector<std::pair<std::string, std::string>>& value) {
  const Yaml* node = Node(field);
  if (node == nullptr) return;
  if (node->kind != Yaml::Kind::kMap) return Wrong(field, "is not a map of texts");
  for (const Yaml::Field& entry : node->fields) {
    absl::StatusOr<std::string> text = YamlText(entry.value, file_, entry.name);
    if (!text.ok()) return Wrong(text.status());
    value.emplace_back(entry.name, *std::move(text));
  }
}

void YamlMap::Bool(absl::string_view field, bool& value) {
  const Yaml* node = Node(field);
  if (node == nullptr) return;
  const absl::StatusOr<bool> read = YamlBool(*node, file_, field);
  if (!read.ok()) return Wrong(read.status());
  value = *read;
}

void YamlMap::Integer(absl::string_view field, std::int64_t least, std::int64_t most, int& value) {
  const Yaml* node = Node(field);
  if (node == nullptr) return;
  const absl::StatusOr<std::int64_t> read = YamlInteger(*node, file_, field);
  if (!read.ok()) return Wrong(read.status());
  if (*read < least || *read > most) {
    return Wrong(field, absl::StrCat("is not within ", least, " to ", most));
  }
  value = static_cast<int>(*read);
}

void YamlMap::Size(absl::string_view field, std::size_t& value) {
  int size = static_cast<int>(value);
  Integer(field, 100, 1'000'000, size);
  value = static_cast<std::size_t>(size);
}

void YamlMap::Duration(absl::string_view field, absl::Duration least, absl::Duration most,
                       absl::Duration& value) {
  std::string text;
  Text(field, text);
  if (text.empty()) return;
  absl::Duration read;
  if (!absl::ParseDuration(text, &read) || read < least || read > most) {
    return Wrong(field, absl::StrCat("is not a time within ", absl::FormatDuration(least), " to ",
                                     absl::FormatDuration(most), ", as \"30s\""));
  }
  value = read;
}

absl::Status YamlMap::NothingElse() {
  if (wrong_.ok()) {
    for (const Yaml::Field& field : yaml_.fields) {
      if (asked_.count(field.name) > 0) continue;
      Wrong(field.name, "there is no such field here");
    }
  }
  return wrong_;
}

}  // namespace galen::gateway::tickets
