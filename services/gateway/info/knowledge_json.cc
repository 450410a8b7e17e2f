#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/gateway/info/info_api.h"

namespace galen::gateway {
namespace {

using Json = nlohmann::ordered_json;
using knowledge::v1::Check;
using knowledge::v1::Label;
using knowledge::v1::Rule;

template <typename List>
Json ListOf(const List& list) {
  Json json = Json::array();
  for (const auto& entry : list) json.push_back(entry);
  return json;
}

std::string WordOf(Rule::Op op) {
  switch (op) {
    case Rule::EQ:
      return "=";
    case Rule::NE:
      return "is not";
    case Rule::LT:
      return "<";
    case Rule::LE:
      return "≤";
    case Rule::GT:
      return ">";
    case Rule::GE:
      return "≥";
    case Rule::IN:
      return "is one of";
    case Rule::NOT_IN:
      return "is none of";
    case Rule::CONTAINS:
      return "contains";
    case Rule::LACKS:
      return "lacks";
    default:
      return "";
  }
}

// A rule in words, with its condition if it has one.
Json RuleJson(const Rule& rule) {
  Json json{{"text", rule.observation()}};
  if (!rule.check().empty()) {
    json["check"] = rule.check();
    json["condition"] = absl::StrCat(rule.finding(), " ", WordOf(rule.op()), " ", rule.value());
  }
  if (!rule.log().empty()) json["condition"] = absl::StrCat("the logs hold ", rule.log());
  if (rule.context()) json["context"] = true;
  for (const Rule& other : rule.with()) json["with"].push_back(RuleJson(other));
  return json;
}

template <typename Rules>
Json RulesJson(const Rules& rules) {
  Json json = Json::array();
  for (const Rule& rule : rules) json.push_back(RuleJson(rule));
  return json;
}

Json LabelJson(const Label& label, const knowledge::Knowledge& knowledge) {
  Json json{{"label", label.label()},
            {"title", label.title()},
            {"parent", label.parent()},
            {"children", ListOf(label.children())},
            {"description", label.description()},
            {"checks", ListOf(knowledge.ChecksFor(label))}};
  if (!knowledge::IsLeaf(label)) return json;
  json["symptoms"] = ListOf(label.symptoms());
  json["confirm"] = RulesJson(label.confirm());
  json["refute"] = RulesJson(label.refute());
  json["effects"] = ListOf(label.secondary_effects());
  json["confusedWith"] = ListOf(label.confused_with());
  json["owner"] = label.owner();
  json["severity"] = label.severity();
  json["mitigation"] = label.mitigation();
  return json;
}

std::string KindOf(Check::Kind kind) {
  switch (kind) {
    case Check::NATIVE:
    case Check::EXTRACT:
      return "node";
    case Check::PROMQL:
      return "telemetry";
    case Check::LOG:
      return "log";
    case Check::EXEC:
      return "site program";
    case Check::HISTORY:
      return "history";
    default:
      return "";
  }
}

Json CheckJson(const Check& check) {
  Json findings = Json::array();
  for (const auto& finding : check.findings()) {
    findings.push_back(
        {{"name", finding.name()}, {"type", finding.type()}, {"unit", finding.unit()}});
  }
  return {{"name", check.name()},
          {"title", check.title()},
          {"kind", KindOf(check.kind())},
          {"needs", ListOf(check.needs())},
          {"intrusive", check.intrusive()},
          {"off", check.off()},
          {"seconds", static_cast<double>(check.cost().seconds()) +
                          static_cast<double>(check.cost().nanos()) * 1e-9},
          {"reads", ListOf(check.reads())},
          {"findings", std::move(findings)}};
}

}  // namespace

std::string KnowledgeJson(const knowledge::Knowledge& knowledge) {
  Json labels = Json::array();
  for (const Label& label : knowledge.base().labels()) {
    labels.push_back(LabelJson(label, knowledge));
  }
  Json checks = Json::array();
  for (const Check& check : knowledge.base().checks()) checks.push_back(CheckJson(check));
  return Json{
      {"digest", knowledge.digest()}, {"labels", std::move(labels)}, {"checks", std::move(checks)}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace galen::gateway
