#include "services/gateway/webhooks/yaml_reader.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace galen::gateway::webhooks {
namespace {

using knowledge::YamlNode;

constexpr absl::string_view kSelectorRemedy =
    "write /a/place/in/the/body or header:Name, several with | between";

}  // namespace

absl::Status ToStatus(const std::vector<knowledge::Problem>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrJoin(problems, "\n", [](std::string* out, const knowledge::Problem& problem) {
        absl::StrAppend(out, knowledge::ToString(problem));
      }));
}

std::vector<std::string> PartReader::Texts(absl::string_view key) const {
  google::protobuf::RepeatedPtrField<std::string> texts;
  fields_.Texts(key, texts);
  return {texts.begin(), texts.end()};
}

std::vector<const YamlNode::Field*> PartReader::Pairs(absl::string_view key) const {
  std::vector<const YamlNode::Field*> pairs;
  const YamlNode* const node = fields_.Find(key);
  if (node == nullptr) return pairs;
  if (node->kind != YamlNode::Kind::kMap) {
    context_.Error(node->line, absl::StrCat("\"", key, "\" is not written as keys and values"),
                   "write `key: value` lines");
    return pairs;
  }
  for (const YamlNode::Field& field : node->fields) {
    if (field.value.kind == YamlNode::Kind::kScalar || field.value.kind == YamlNode::Kind::kNull) {
      pairs.push_back(&field);
      continue;
    }
    context_.Error(field.value.line,
                   absl::StrCat("\"", field.name, "\" of \"", key, "\" is not a text"),
                   "write one value");
  }
  return pairs;
}

std::map<std::string, std::string> PartReader::TextMap(absl::string_view key) const {
  std::map<std::string, std::string> texts;
  for (const YamlNode::Field* const field : Pairs(key)) texts[field->name] = field->value.scalar;
  return texts;
}

std::optional<Pointer> PartReader::PointerAt(absl::string_view key) const {
  const YamlNode* const node = fields_.Find(key);
  if (node == nullptr) return std::nullopt;
  return Take(Pointer::Parse(fields_.Text(key)), node->line, "write /a/place/in/the/body");
}

std::optional<Selector> PartReader::SelectorAt(absl::string_view key) const {
  const YamlNode* const node = fields_.Find(key);
  if (node == nullptr) return std::nullopt;
  return Take(Selector::Parse(fields_.Text(key)), node->line, kSelectorRemedy);
}

std::vector<Selector> PartReader::Selectors(absl::string_view key) const {
  std::vector<Selector> selectors;
  const YamlNode* const node = fields_.Find(key);
  for (const std::string& text : Texts(key)) {
    std::optional<Selector> made = Take(Selector::Parse(text), node->line, kSelectorRemedy);
    if (made.has_value()) selectors.push_back(*std::move(made));
  }
  return selectors;
}

Template PartReader::TemplateAt(absl::string_view key) const {
  const YamlNode* const node = fields_.Find(key);
  if (node == nullptr) return {};
  return Take(Template::Parse(fields_.Text(key)), node->line, kSelectorRemedy).value_or(Template());
}

std::map<std::string, Template> PartReader::Templates(absl::string_view key) const {
  std::map<std::string, Template> made;
  for (const YamlNode::Field* const field : Pairs(key)) {
    made[field->name] =
        Take(Template::Parse(field->value.scalar), field->value.line, kSelectorRemedy)
            .value_or(Template());
  }
  return made;
}

std::vector<Condition> PartReader::Conditions(absl::string_view key) const {
  std::vector<Condition> conditions;
  for (const YamlNode* const node : fields_.Entries(key)) {
    const knowledge::Fields fields(context_, *node, "condition", {"at", "is", "begins", "exists"});
    const PartReader reader(fields, context_);
    Condition condition;
    fields.RequiredText("at");
    condition.at = reader.SelectorAt("at").value_or(Selector());
    condition.is = reader.Texts("is");
    condition.begins = reader.Texts("begins");
    if (fields.Has("exists")) condition.exists = fields.Bool("exists");
    if (condition.is.empty() && condition.begins.empty() && !condition.exists.has_value()) {
      context_.Error(node->line, "a condition asks for nothing", "add `is`, `begins` or `exists`");
    }
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

int PartReader::Integer(absl::string_view key, int least, int most, int otherwise) const {
  const std::optional<double> number = fields_.Number(key);
  if (!number.has_value()) return otherwise;
  if (std::floor(*number) == *number && *number >= least && *number <= most) {
    return static_cast<int>(*number);
  }
  context_.Error(fields_.Find(key)->line,
                 absl::StrCat("\"", key, "\" is not a whole number from ", least, " to ", most),
                 "write such a number");
  return otherwise;
}

absl::Duration PartReader::DurationAt(absl::string_view key, absl::Duration least,
                                      absl::Duration most, absl::Duration otherwise) const {
  const std::string text = fields_.Text(key);
  if (text.empty()) return otherwise;
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration >= least && duration <= most) {
    return duration;
  }
  context_.Error(fields_.Find(key)->line,
                 absl::StrCat("\"", key, "\" is \"", text, "\", not a time from ",
                              absl::FormatDuration(least), " to ", absl::FormatDuration(most)),
                 "write it like 30s, 10m or 1h");
  return otherwise;
}

bool PartReader::BoolAt(absl::string_view key, bool otherwise) const {
  return fields_.Has(key) ? fields_.Bool(key) : otherwise;
}

}  // namespace galen::gateway::webhooks
