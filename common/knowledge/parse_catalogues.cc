#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/knowledge/files.h"
#include "common/knowledge/parse.h"

namespace galen::knowledge {
namespace {

constexpr absl::string_view kSignalKeys[] = {"id",     "pattern", "where",   "strength", "role",
                                             "labels", "meaning", "outcome", "refutes"};
constexpr absl::string_view kErrorCodeKeys[] = {"family", "code", "name", "meaning", "severity"};
constexpr absl::string_view kHardwareKeys[] = {"model", "match", "facts", "reference"};
constexpr absl::string_view kKernelLineKeys[] = {
    "id", "family", "code", "match", "platform", "program_codes", "settle_s", "reference"};
constexpr absl::string_view kArtefactKeys[] = {"id",   "title",    "typed", "header",  "lines",
                                               "file", "reads_as", "form",  "instead", "reference"};
constexpr absl::string_view kBaseRateKeys[] = {"of", "seen", "asked"};
constexpr absl::string_view kComplaintsKeys[] = {"label", "told"};
constexpr absl::string_view kIncidentKeys[] = {
    "id",           "title",      "description", "logs", "environment", "label", "labels_secondary",
    "verification", "resolution", "reference",   "date", "tenant_texts"};
constexpr std::size_t kLearnedId = 16;  // characters of a digest
constexpr absl::string_view kTenantTextsKeys[] = {"tenant",     "title",       "description",
                                                  "logs",       "environment", "verification",
                                                  "resolution", "reference"};

void ReadEnvironment(const FileContext& context, const Fields& fields,
                     google::protobuf::Map<std::string, std::string>& words) {
  const YamlNode* const environment = fields.Find("environment");
  if (environment == nullptr) return;
  std::vector<absl::string_view> names;
  for (const auto& field : environment->fields) names.push_back(field.name);
  const Fields values(context, *environment, "map of the environment", names);
  for (absl::string_view name : names) words[std::string(name)] = values.Text(name);
}

void ReadTenantTexts(const FileContext& context, const YamlNode& node, v1::TenantTexts& texts) {
  const Fields fields(context, node, "texts of a tenant", kTenantTextsKeys);
  texts.set_tenant(fields.RequiredText("tenant"));
  texts.set_title(fields.Text("title"));
  texts.set_description(fields.Text("description"));
  fields.Texts("logs", *texts.mutable_logs());
  ReadEnvironment(context, fields, *texts.mutable_environment());
  fields.Texts("verification", *texts.mutable_verification());
  texts.set_resolution(fields.Text("resolution"));
  texts.set_reference(fields.Text("reference"));
}

// Earlier releases learned from a diagnosis in its tenant's own words, visible to every tenant.
void KeepForItsTenant(v1::PastIncident& incident) {
  absl::string_view tenant = incident.reference();
  if (!absl::ConsumePrefix(&tenant, "tenants/")) return;
  v1::TenantTexts& texts = *incident.mutable_tenant_texts();
  texts.set_tenant(std::string(tenant.substr(0, tenant.find('/'))));
  texts.set_title(incident.title());
  texts.set_description(incident.description());
  texts.mutable_logs()->Swap(incident.mutable_logs());
  texts.mutable_environment()->swap(*incident.mutable_environment());
  texts.mutable_verification()->Swap(incident.mutable_verification());
  texts.set_resolution(incident.resolution());
  texts.set_reference(incident.reference());
  incident.clear_description();
  incident.clear_resolution();
  incident.clear_reference();
  incident.set_title(incident.label());
  incident.set_id(absl::StrCat("learned-", Sha256(texts.reference()).substr(0, kLearnedId)));
}

void ReadWhere(const Fields& fields, v1::SignalPattern& signal) {
  const YamlNode* where = fields.Find("where");
  if (where == nullptr) return;
  const auto add = [&](const YamlNode& node) {
    if (const auto place = fields.WordAt(node, "where", WhereWords()); place.has_value()) {
      signal.add_where(*place);
    }
  };
  if (where->kind == YamlNode::Kind::kList) {
    for (const YamlNode& item : where->items) add(item);
  } else {
    add(*where);
  }
}

}  // namespace

void SetSource(const FileContext& context, int line, v1::SourceRef& source) {
  source.set_file(context.file);
  source.set_line(line);
}

void ReadSignal(const FileContext& context, const Fields& fields, v1::SignalPattern& signal) {
  signal.set_id(fields.Text("id"));
  signal.set_pattern(fields.RequiredText("pattern"));
  ReadWhere(fields, signal);
  signal.set_strength(fields.OneOf("strength", StrengthWords()).value_or(galen::v1::WEAK));
  signal.set_role(fields.OneOf("role", RoleWords()).value_or(galen::v1::PRIMARY));
  signal.set_meaning(fields.Text("meaning"));
  signal.set_outcome(fields.OneOf("outcome", OutcomeWords()).value_or(v1::OUTCOME_UNSPECIFIED));
  SetSource(context, fields.line(), *signal.mutable_source());
}

void ParseSignals(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("signals")) {
    const Fields fields(context, *node, "signal", kSignalKeys);
    v1::SignalPattern signal;
    fields.RequiredText("id");
    ReadSignal(context, fields, signal);
    fields.Texts("labels", *signal.mutable_labels());
    fields.Texts("refutes", *signal.mutable_refutes());
    if (signal.id().empty() || signal.pattern().empty()) continue;
    entries.signals.push_back(std::move(signal));
  }
}

void ParseErrorCodes(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("error_codes")) {
    const Fields fields(context, *node, "error code", kErrorCodeKeys);
    v1::ErrorCode code;
    code.set_family(fields.RequiredText("family"));
    int32_t number = 0;
    const std::string text = fields.RequiredText("code");
    if (!text.empty() && !absl::SimpleAtoi(text, &number)) {
      fields.Error(fields.Find("code")->line, absl::StrCat("\"code\" is \"", text, "\""),
                   "write the number");
    }
    code.set_code(number);
    code.set_name(fields.Text("name"));
    code.set_meaning(fields.Text("meaning"));
    code.set_severity(fields.Text("severity"));
    SetSource(context, node->line, *code.mutable_source());
    if (!code.family().empty()) entries.error_codes.push_back(std::move(code));
  }
}

void ParseHardware(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("hardware")) {
    const Fields fields(context, *node, "hardware model", kHardwareKeys);
    v1::Hardware hardware;
    hardware.set_model(fields.RequiredText("model"));
    hardware.set_match(fields.RequiredText("match"));
    hardware.set_reference(fields.Text("reference"));
    if (const YamlNode* facts = fields.Find("facts"); facts != nullptr) {
      std::vector<absl::string_view> names;
      for (const auto& field : facts->fields) names.push_back(field.name);
      const Fields numbers(context, *facts, "list of facts", names);
      for (absl::string_view name : names) {
        const std::optional<double> number = numbers.Number(name);
        if (number.has_value()) (*hardware.mutable_facts())[std::string(name)] = *number;
      }
    }
    SetSource(context, node->line, *hardware.mutable_source());
    if (!hardware.model().empty()) entries.hardware.push_back(std::move(hardware));
  }
}

void ParseKernelLines(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("kernel_lines")) {
    const Fields fields(context, *node, "kernel line", kKernelLineKeys);
    v1::KernelLine line;
    line.set_id(fields.RequiredText("id"));
    fields.RequiredText("family");
    line.set_family(fields.OneOf("family", KernelFamilyWords())
                        .value_or(v1::KernelFamily::KERNEL_FAMILY_UNSPECIFIED));
    line.set_code(fields.Text("code"));
    line.set_match(fields.RequiredText("match"));
    line.set_platform(fields.Bool("platform"));
    fields.Texts("program_codes", *line.mutable_program_codes());
    line.set_settle_s(fields.Number("settle_s").value_or(0));
    line.set_reference(fields.Text("reference"));
    SetSource(context, node->line, *line.mutable_source());
    if (!line.id().empty()) entries.kernel_lines.push_back(std::move(line));
  }
}

void ParseArtefactKinds(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("artefact_kinds")) {
    const Fields fields(context, *node, "artefact kind", kArtefactKeys);
    v1::ArtefactKind kind;
    kind.set_id(fields.RequiredText("id"));
    kind.set_title(fields.RequiredText("title"));
    fields.Texts("typed", *kind.mutable_typed());
    fields.Texts("header", *kind.mutable_header());
    fields.Texts("lines", *kind.mutable_lines());
    fields.Texts("file", *kind.mutable_file());
    kind.set_reads_as(fields.RequiredText("reads_as"));
    kind.set_form(fields.Text("form"));
    kind.set_instead(fields.Text("instead"));
    kind.set_reference(fields.Text("reference"));
    SetSource(context, node->line, *kind.mutable_source());
    if (!kind.id().empty()) entries.artefact_kinds.push_back(std::move(kind));
  }
}

void ParseBaseRates(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("base_rates")) {
    const Fields fields(context, *node, "base rate", kBaseRateKeys);
    v1::BaseRate rate;
    rate.set_of(fields.RequiredText("of"));
    const auto count = [&](absl::string_view key) {
      constexpr double kMost = 1e6;
      const std::optional<double> given = fields.Number(key);
      if (!given.has_value()) {
        fields.Error(node->line, absl::StrCat("\"", key, "\" is missing"),
                     "write how many incidents, 0 to 1000000");
        return 0;
      }
      const double number = *given;
      if (number >= 0 && number <= kMost) return static_cast<int32_t>(number);
      fields.Error(node->line, absl::StrCat("\"", key, "\" is ", number),
                   "write how many incidents, 0 to 1000000");
      return 0;
    };
    rate.set_seen(count("seen"));
    rate.set_asked(count("asked"));
    SetSource(context, node->line, *rate.mutable_source());
    if (!rate.of().empty()) entries.base_rates.push_back(std::move(rate));
  }
}

void ParseComplaints(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("complaints")) {
    const Fields fields(context, *node, "list of complaints", kComplaintsKeys);
    v1::Complaints complaints;
    complaints.set_label(fields.RequiredText("label"));
    fields.Texts("told", *complaints.mutable_told());
    SetSource(context, node->line, *complaints.mutable_source());
    if (!complaints.label().empty()) entries.complaints.push_back(std::move(complaints));
  }
}

void ParseIncidents(const FileContext& context, const Fields& file, Entries& entries) {
  for (const YamlNode* node : file.Entries("incidents")) {
    const Fields fields(context, *node, "past incident", kIncidentKeys);
    v1::PastIncident incident;
    incident.set_id(fields.RequiredText("id"));
    incident.set_title(fields.Text("title"));
    incident.set_description(fields.Text("description"));
    fields.Texts("logs", *incident.mutable_logs());
    ReadEnvironment(context, fields, *incident.mutable_environment());
    incident.set_label(fields.RequiredText("label"));
    fields.Texts("labels_secondary", *incident.mutable_labels_secondary());
    fields.Texts("verification", *incident.mutable_verification());
    incident.set_resolution(fields.Text("resolution"));
    incident.set_reference(fields.Text("reference"));
    incident.set_date(fields.Date("date"));
    if (const YamlNode* own = fields.Find("tenant_texts"); own != nullptr) {
      ReadTenantTexts(context, *own, *incident.mutable_tenant_texts());
    }
    if (!incident.has_tenant_texts()) KeepForItsTenant(incident);
    SetSource(context, node->line, *incident.mutable_source());
    if (!incident.id().empty()) entries.incidents.push_back(std::move(incident));
  }
}

}  // namespace galen::knowledge
