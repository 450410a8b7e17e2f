#include "common/knowledge/fields.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/time/civil_time.h"

namespace galen::knowledge {

void FileContext::Error(int line, std::string text, std::string remedy) const {
  problems.push_back({Problem::Severity::kError, file, line, std::move(text), std::move(remedy)});
}

Fields::Fields(const FileContext& context, const YamlNode& node, absl::string_view what,
               absl::Span<const absl::string_view> known_keys)
    : context_(context), node_(node), what_(what) {
  if (node.kind != YamlNode::Kind::kMap) {
    Error(node.line, absl::StrCat("a ", what, " is written as keys and values"),
          "write `key: value` lines");
    return;
  }
  for (const auto& [key, value] : node.fields) {
    if (!Knows(known_keys, key)) {
      Error(value.key_line, absl::StrCat("unknown key \"", key, "\" in a ", what),
            Suggest(key, known_keys, "see docs/knowledge.md for the keys"));
    }
  }
}

const YamlNode* Fields::Find(absl::string_view key) const {
  const YamlNode* const value = node_.Find(key);
  return value == nullptr || value->kind == YamlNode::Kind::kNull ? nullptr : value;
}

std::string Fields::Text(absl::string_view key) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return "";
  if (node->kind != YamlNode::Kind::kScalar) {
    Error(node->line, absl::StrCat("\"", key, "\" of a ", what_, " is not a text"),
          "write one value");
    return "";
  }
  return node->scalar;
}

std::string Fields::RequiredText(absl::string_view key) const {
  std::string text = Text(key);
  if (text.empty() && node_.kind == YamlNode::Kind::kMap) {
    Error(node_.line, absl::StrCat("a ", what_, " without \"", key, "\""),
          absl::StrCat("add `", key, ": ...`"));
  }
  return text;
}

bool Fields::Bool(absl::string_view key) const {
  const std::string text = Text(key);
  if (text == "true") return true;
  if (!text.empty() && text != "false") {
    Error(Find(key)->line, absl::StrCat("\"", key, "\" is \"", text, "\""), "write true or false");
  }
  return false;
}

std::string Fields::Date(absl::string_view key) const {
  std::string text = Text(key);
  absl::CivilDay day;
  if (text.empty() || (text.size() == 10 && absl::ParseCivilTime(text, &day))) return text;
  Error(Find(key)->line, absl::StrCat("\"", key, "\" is \"", text, "\", which is not a date"),
        "write it as YYYY-MM-DD");
  return "";
}

std::optional<double> Fields::Number(absl::string_view key) const {
  const std::string text = Text(key);
  if (text.empty()) return std::nullopt;
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value)) {
    Error(Find(key)->line, absl::StrCat("\"", key, "\" is \"", text, "\", which is not a number"),
          "write a plain number without a unit");
    return std::nullopt;
  }
  return value;
}

void Fields::Texts(absl::string_view key,
                   google::protobuf::RepeatedPtrField<std::string>& out) const {
  const YamlNode* node = Find(key);
  if (node == nullptr) return;
  if (node->kind == YamlNode::Kind::kScalar) {
    *out.Add() = node->scalar;
    return;
  }
  for (const YamlNode& item : node->items) {
    if (node->kind == YamlNode::Kind::kList && item.kind == YamlNode::Kind::kScalar) {
      *out.Add() = item.scalar;
      continue;
    }
    Error(item.line, absl::StrCat("\"", key, "\" of a ", what_, " is not a list of texts"),
          "write `- text` lines; quote a text that contains a colon");
    return;
  }
}

std::vector<const YamlNode*> Fields::Entries(absl::string_view key) const {
  std::vector<const YamlNode*> entries;
  const YamlNode* node = Find(key);
  if (node == nullptr) return entries;
  if (node->kind != YamlNode::Kind::kList) {
    Error(node->line, absl::StrCat("\"", key, "\" is not a list"), "write `- key: value` entries");
    return entries;
  }
  for (const YamlNode& item : node->items) {
    if (item.kind == YamlNode::Kind::kMap) {
      entries.push_back(&item);
    } else {
      Error(item.line, absl::StrCat("an entry of \"", key, "\" is not written as keys and values"),
            "write `- key: value` entries");
    }
  }
  return entries;
}

void Fields::ReportWord(const YamlNode& node, absl::string_view key,
                        const std::vector<absl::string_view>& words) const {
  Error(node.line, absl::StrCat("\"", key, "\" is \"", node.scalar, "\""),
        Suggest(node.scalar, words));
}

}  // namespace galen::knowledge
