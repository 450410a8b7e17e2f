#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/proto_time.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kCheckKeys[] = {
    "name",     "title",   "kind", "reads",  "needs",        "intrusive", "cost",
    "findings", "command", "file", "in_job", "parameters",   "occupies",  "time_limit",
    "exec",     "compare", "data", "family", "customer_sees"};
constexpr absl::string_view kParameterKeys[] = {"name",    "type", "unit", "description",
                                                "default", "min",  "max",  "choices"};
constexpr absl::string_view kExecKeys[] = {"argv",      "time",   "memory_mib", "output_kib",
                                           "processes", "output", "exit_codes"};
constexpr absl::string_view kComparisonKeys[] = {"finding", "of", "how", "min_nodes", "within"};
constexpr absl::string_view kDatumKeys[] = {"name", "number", "texts", "pattern", "source"};
constexpr absl::string_view kFindingKeys[] = {"name",    "type",     "unit",
                                              "subject", "abnormal", "pattern"};
constexpr absl::string_view kLimitKeys[] = {"op", "value", "observation"};

// False when the field is absent or no duration.
bool ReadDuration(const Fields& fields, absl::string_view key, google::protobuf::Duration& out) {
  const std::string text = fields.Text(key);
  if (text.empty()) return false;
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration == absl::InfiniteDuration() ||
      duration == -absl::InfiniteDuration()) {
    fields.Error(fields.Find(key)->line, absl::StrCat("\"", key, "\" is \"", text, "\""),
                 "write a duration with its unit: 500ms, 2s, 1m30s");
    return false;
  }
  out = ToProtoDuration(duration);
  return true;
}

// A whole number from 0 to 2^53, times `unit`; 0 when absent.
int64_t ReadWhole(const Fields& fields, absl::string_view key, int64_t unit = 1) {
  const std::optional<double> number = fields.Number(key);
  if (!number.has_value()) return 0;
  if (*number < 0 || *number != std::floor(*number) ||
      *number * static_cast<double>(unit) > 9007199254740992.0) {
    fields.Error(fields.Find(key)->line, absl::StrCat("\"", key, "\" is ", *number),
                 "write a whole number, 0 or more");
    return 0;
  }
  return static_cast<int64_t>(*number) * unit;
}

void ReadParameter(const FileContext& context, const YamlNode& node, v1::Check& check) {
  const Fields fields(context, node, "parameter", kParameterKeys);
  v1::Parameter parameter;
  parameter.set_name(fields.RequiredText("name"));
  if (parameter.name().empty()) return;
  parameter.set_type(fields.RequiredText("type"));
  parameter.set_unit(fields.Text("unit"));
  parameter.set_description(fields.RequiredText("description"));
  parameter.set_default_value(fields.Text("default"));
  if (const auto min = fields.Number("min"); min.has_value()) parameter.set_min(*min);
  if (const auto max = fields.Number("max"); max.has_value()) parameter.set_max(*max);
  fields.Texts("choices", *parameter.mutable_choices());
  *check.add_parameters() = std::move(parameter);
}

void ReadExec(const FileContext& context, const YamlNode& node, v1::Check& check) {
  const Fields fields(context, node, "exec", kExecKeys);
  v1::ExecSpec& exec = *check.mutable_exec();
  fields.Texts("argv", *exec.mutable_argv());
  google::protobuf::Duration time;
  if (ReadDuration(fields, "time", time)) *exec.mutable_time_limit() = time;
  exec.set_memory_limit_bytes(ReadWhole(fields, "memory_mib", int64_t{1} << 20));
  exec.set_output_limit_bytes(ReadWhole(fields, "output_kib", 1024));
  exec.set_process_limit(
      static_cast<int32_t>(std::min<int64_t>(ReadWhole(fields, "processes"), 1 << 20)));
  exec.set_output(fields.RequiredText("output"));
  google::protobuf::RepeatedPtrField<std::string> codes;
  fields.Texts("exit_codes", codes);
  for (const std::string& code : codes) {
    int32_t number = 0;
    if (!absl::SimpleAtoi(code, &number) || number < 0 || number > 255) {
      fields.Error(fields.Find("exit_codes")->line,
                   absl::StrCat("\"", code, "\" is not an exit code"),
                   "write numbers from 0 to 255");
      continue;
    }
    exec.add_exit_codes(number);
  }
}

void ReadComparison(const FileContext& context, const YamlNode& node, v1::Check& check) {
  const Fields fields(context, node, "comparison", kComparisonKeys);
  v1::Comparison comparison;
  comparison.set_finding(fields.RequiredText("finding"));
  comparison.set_of(fields.RequiredText("of"));
  comparison.set_how(fields.RequiredText("how"));
  comparison.set_min_nodes(
      static_cast<int32_t>(std::min<int64_t>(ReadWhole(fields, "min_nodes"), 1 << 20)));
  comparison.set_within(fields.Text("within"));
  *check.add_comparisons() = std::move(comparison);
}

void ReadDatum(const FileContext& context, const YamlNode& node, v1::Check& check) {
  const Fields fields(context, node, "datum", kDatumKeys);
  v1::CheckDatum datum;
  datum.set_name(fields.RequiredText("name"));
  if (const auto number = fields.Number("number"); number.has_value()) datum.set_number(*number);
  fields.Texts("texts", *datum.mutable_texts());
  datum.set_pattern(fields.Text("pattern"));
  datum.set_reference(fields.Text("source"));
  *check.add_data() = std::move(datum);
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
    if (google::protobuf::Duration cost; ReadDuration(fields, "cost", cost)) {
      *check.mutable_cost() = cost;
    }
    if (google::protobuf::Duration limit; ReadDuration(fields, "time_limit", limit)) {
      *check.mutable_time_limit() = limit;
    }
    check.set_occupies(fields.Text("occupies"));
    check.set_family(fields.Text("family"));
    check.set_customer_sees(
        fields.OneOf("customer_sees", AudienceWords()).value_or(v1::Check::AUDIENCE_UNSPECIFIED));
    for (const YamlNode* parameter : fields.Entries("parameters")) {
      ReadParameter(context, *parameter, check);
    }
    if (const YamlNode* exec = fields.Find("exec"); exec != nullptr) {
      ReadExec(context, *exec, check);
    }
    for (const YamlNode* comparison : fields.Entries("compare")) {
      ReadComparison(context, *comparison, check);
    }
    for (const YamlNode* datum : fields.Entries("data")) ReadDatum(context, *datum, check);
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
