#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kLabelKeys[] = {
    "label",    "parent",   "children",   "title",  "description",       "first_checks",
    "symptoms", "signals",  "confirm",    "refute", "secondary_effects", "confused_with",
    "owner",    "severity", "mitigation", "prior",  "aliases",           "sources",
    "added",    "residual"};
constexpr absl::string_view kRuleKeys[] = {"check",       "finding", "op",       "value",
                                           "observation", "context", "defining", "with"};
constexpr absl::string_view kWithKeys[] = {"check", "finding", "op", "value", "log"};
constexpr absl::string_view kLabelSignalKeys[] = {"id",   "pattern", "where",  "strength",
                                                  "role", "meaning", "outcome"};

// Conditions that must hold together with a rule: another condition, or a message in a log.
void ReadWith(const FileContext& context, const Fields& rule_fields, v1::Rule& rule) {
  for (const YamlNode* node : rule_fields.Entries("with")) {
    const Fields fields(context, *node, "condition", kWithKeys);
    v1::Rule& with = *rule.add_with();
    SetSource(context, node->line, *with.mutable_source());
    with.set_log(fields.Text("log"));
    if (with.log().empty()) {
      with.set_check(fields.RequiredText("check"));
      with.set_finding(fields.RequiredText("finding"));
      ReadCondition(fields, with);
    } else if (fields.Find("check") != nullptr) {
      fields.Error(node->line, "condition has both `log` and `check`", "write two conditions");
    }
  }
}

void ReadRules(const FileContext& context, const Fields& label, absl::string_view key,
               google::protobuf::RepeatedPtrField<v1::Rule>& rules) {
  for (const YamlNode* node : label.Entries(key)) {
    const Fields fields(context, *node, "rule", kRuleKeys);
    v1::Rule rule;
    rule.set_check(fields.RequiredText("check"));
    rule.set_finding(fields.RequiredText("finding"));
    ReadCondition(fields, rule);
    rule.set_observation(fields.Text("observation"));
    rule.set_context(fields.Bool("context"));
    rule.set_defining(fields.Bool("defining"));
    if (rule.defining() && rule.context()) {
      fields.Error(fields.Find("defining")->line, "a rule that is context is not defining",
                   "take `defining` or `context` out");
    }
    ReadWith(context, fields, rule);
    SetSource(context, node->line, *rule.mutable_source());
    const bool complete =
        !rule.check().empty() && !rule.finding().empty() && rule.op() != v1::Rule::OP_UNSPECIFIED;
    if (complete) *rules.Add() = std::move(rule);
  }
}

std::string ParentByName(absl::string_view label) {
  const std::size_t dot = label.rfind('.');
  return dot == absl::string_view::npos ? "" : std::string(label.substr(0, dot));
}

void ReadLabel(const FileContext& context, const YamlNode& node, absl::string_view enclosing,
               Entries& entries) {
  const Fields fields(context, node, "label", kLabelKeys);
  LabelEntry entry;
  v1::Label& label = entry.label;
  label.set_label(fields.RequiredText("label"));
  if (label.label().empty()) return;
  label.set_parent(fields.Text("parent"));
  if (label.parent().empty()) {
    label.set_parent(enclosing.empty() ? ParentByName(label.label()) : std::string(enclosing));
  } else if (!enclosing.empty() && label.parent() != enclosing) {
    fields.Error(fields.Find("parent")->line,
                 absl::StrCat("label ", label.label(), " is nested below ", enclosing,
                              " and names the parent ", label.parent()),
                 "remove `parent`, or move the label into a flat list");
  }
  label.set_title(fields.Text("title"));
  label.set_description(fields.Text("description"));
  fields.Texts("first_checks", *label.mutable_first_checks());
  fields.Texts("symptoms", *label.mutable_symptoms());
  ReadRules(context, fields, "confirm", *label.mutable_confirm());
  ReadRules(context, fields, "refute", *label.mutable_refute());
  fields.Texts("secondary_effects", *label.mutable_secondary_effects());
  fields.Texts("confused_with", *label.mutable_confused_with());
  label.set_owner(fields.Text("owner"));
  label.set_severity(fields.Text("severity"));
  label.set_mitigation(fields.Text("mitigation"));
  label.set_prior(fields.Text("prior"));
  label.set_residual(fields.Bool("residual"));
  fields.Texts("aliases", *label.mutable_aliases());
  fields.Texts("sources", *label.mutable_sources());
  label.set_added(fields.Date("added"));
  SetSource(context, node.line, *label.mutable_source());
  for (const YamlNode* each : fields.Entries("signals")) {
    v1::SignalPattern signal;
    ReadSignal(context, Fields(context, *each, "signal", kLabelSignalKeys), signal);
    signal.add_labels(label.label());
    if (signal.meaning().empty()) signal.set_meaning(label.title());
    if (!signal.pattern().empty()) entry.signals.push_back(std::move(signal));
  }
  const std::string name = label.label();
  entries.labels.push_back(std::move(entry));
  for (const YamlNode* child : fields.Entries("children")) {
    ReadLabel(context, *child, name, entries);
  }
}

}  // namespace

void ReadCondition(const Fields& fields, v1::Rule& rule) {
  fields.RequiredText("op");
  rule.set_op(fields.OneOf("op", OpWords()).value_or(v1::Rule::OP_UNSPECIFIED));
  google::protobuf::RepeatedPtrField<std::string> values;
  fields.Texts("value", values);
  rule.set_value(absl::StrJoin(values, ","));
}

void ParseLabels(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("labels")) ReadLabel(context, *node, "", entries);
}

}  // namespace galen::knowledge
