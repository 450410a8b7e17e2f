#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kCheckKeys[] = {"name",    "title",     "kind",  "reads",
                                            "needs",   "intrusive", "cost",  "findings",
                                            "command", "file",      "in_job"};
constexpr absl::string_view kFindingKeys[] = {"name",    "type",     "unit",
                                              "subject", "abnormal", "pattern"};
constexpr absl::string_view kLimitKeys[] = {"op", "value", "observation"};

void ReadCost(const Fields& fields, v1::Check& check) {
  const std::string text = fields.Text("cost");
  if (text.empty()) return;
  absl::Duration cost;
  if (!absl::ParseDuration(text, &cost) || cost == absl::InfiniteDuration() ||
      cost == -absl::InfiniteDuration()) {
    fields.Error(fields.Find("cost")->line, absl::StrCat("\"cost\" is \"", text, "\""),
                 "write a duration with its unit: 500ms, 2s, 1m30s");
    return;
  }
  const int64_t seconds = absl::IDivDuration(cost, absl::Seconds(1), &cost);
  check.mutable_cost()->set_seconds(seconds);
  check.mutable_cost()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(cost)));
}

void ReadFinding(const FileContext& context, const YamlNode& node, v1::Check& check) {
  const Fields fields(context, node, "finding", kFindingKeys);
  v1::FindingSpec spec;
  spec.set_name(fields.RequiredText("name"));
  if (spec.name().empty()) return;
  spec.set_type(fields.Text("type"));
  spec.set_unit(fields.Text("unit"));
  spec.set_subject(fields.Text("subject"));
  spec.set_pattern(fields.Text("pattern"));
  if (const YamlNode* limit = fields.Find("abnormal"); limit != nullptr) {
    v1::Rule rule;
    const Fields limit_fields(context, *limit, "limit", kLimitKeys);
    ReadCondition(limit_fields, rule);
    rule.set_check(check.name());
    rule.set_finding(spec.name());
    rule.set_observation(limit_fields.Text("observation"));
    SetSource(context, limit->line, *rule.mutable_source());
    if (rule.op() != v1::Rule::OP_UNSPECIFIED) *spec.mutable_abnormal() = std::move(rule);
  }
  *check.add_findings() = std::move(spec);
}

}  // namespace

void ParseChecks(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("checks")) {
    const Fields fields(context, *node, "check", kCheckKeys);
    v1::Check check;
    check.set_name(fields.RequiredText("name"));
    if (check.name().empty()) continue;
    check.set_title(fields.Text("title"));
    fields.RequiredText("kind");
    check.set_kind(fields.OneOf("kind", KindWords()).value_or(v1::Check::KIND_UNSPECIFIED));
    fields.Texts("reads", *check.mutable_reads());
    fields.Texts("needs", *check.mutable_needs());
    check.set_intrusive(fields.Bool("intrusive"));
    ReadCost(fields, check);
    for (const YamlNode* finding : fields.Entries("findings"))
      ReadFinding(context, *finding, check);
    fields.Texts("command", *check.mutable_command());
    check.set_file(fields.Text("file"));
    check.set_in_job(fields.Bool("in_job"));
    SetSource(context, node->line, *check.mutable_source());
    entries.checks.push_back(std::move(check));
  }
}

}  // namespace galen::knowledge
