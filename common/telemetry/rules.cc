#include "common/telemetry/rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/host/yaml.h"
#include "common/telemetry/selector.h"

namespace galen::telemetry {
namespace {

constexpr std::size_t kMostFile = 1 << 20;
constexpr char kFile[] = "telemetry/sources.yaml";
constexpr std::array<absl::string_view, 6> kFields = {"node", "device", "port",
                                                      "uuid", "rank",   "job"};

absl::StatusOr<double> Number(const host::Yaml& value, absl::string_view file,
                              absl::string_view field) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, host::YamlText(value, file, field));
  double number = 0;
  if (!absl::SimpleAtod(text, &number))
    return host::YamlError(value, file, absl::StrCat(field, ": write a number"));
  return number;
}

absl::Status Unknown(const host::Yaml::Field& field, absl::string_view file,
                     absl::string_view known) {
  return host::YamlError(field.value, file,
                         absl::StrCat(field.name, ": unknown; there are ", known));
}

absl::Status ParseLabels(const host::Yaml& yaml, absl::string_view file, Family& family) {
  for (const host::Yaml::Field& field : yaml.fields) {
    if (std::find(kFields.begin(), kFields.end(), field.name) == kFields.end()) {
      return Unknown(field, file, absl::StrJoin(kFields, ", "));
    }
    GALEN_ASSIGN_OR_RETURN(family.labels[field.name],
                           host::YamlTexts(field.value, file, field.name));
  }
  return absl::OkStatus();
}

absl::Status ParseUnknown(const host::Yaml& yaml, absl::string_view file, Family& family) {
  for (const host::Yaml& item : yaml.items) {
    Family::Between between;
    for (const host::Yaml::Field& field : item.fields) {
      if (field.name != "from" && field.name != "to") return Unknown(field, file, "from, to");
      GALEN_ASSIGN_OR_RETURN((field.name == "from" ? between.from : between.to),
                             Number(field.value, file, field.name));
    }
    if (between.from > between.to)
      return host::YamlError(item, file, "unknown: from is more than to");
    family.unknown.push_back(between);
  }
  return absl::OkStatus();
}

absl::StatusOr<Family> ParseFamily(const host::Yaml& yaml, absl::string_view file) {
  Family family;
  for (const host::Yaml::Field& field : yaml.fields) {
    if (field.name == "labels") {
      GALEN_RETURN_IF_ERROR(ParseLabels(field.value, file, family));
    } else if (field.name == "unknown") {
      GALEN_RETURN_IF_ERROR(ParseUnknown(field.value, file, family));
    } else if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(family.name, host::YamlText(field.value, file, field.name));
    } else if (field.name == "title") {
      GALEN_ASSIGN_OR_RETURN(family.title, host::YamlText(field.value, file, field.name));
    } else if (field.name == "device") {
      GALEN_ASSIGN_OR_RETURN(family.device, host::YamlText(field.value, file, field.name));
    } else if (field.name == "metrics") {
      GALEN_ASSIGN_OR_RETURN(family.metrics, host::YamlText(field.value, file, field.name));
    } else if (field.name != "source") {
      return Unknown(field, file, "name, title, metrics, device, labels, unknown, source");
    }
  }
  if (family.name.empty() || family.metrics.empty() || family.labels["node"].empty()) {
    return host::YamlError(yaml, file,
                           "families: an entry needs a name, metrics, and labels of the node");
  }
  family.pattern = std::make_shared<const re2::RE2>(family.metrics, re2::RE2::Quiet);
  if (!family.pattern->ok())
    return host::YamlError(yaml, file, absl::StrCat("metrics: ", family.pattern->error()));
  return family;
}

absl::StatusOr<MetricOf> ParseMetricOf(const host::Yaml& yaml, absl::string_view file) {
  MetricOf of;
  for (const host::Yaml::Field& field : yaml.fields) {
    if (field.name == "metric") {
      GALEN_ASSIGN_OR_RETURN(of.metric, host::YamlText(field.value, file, field.name));
    } else if (field.name == "where") {
      GALEN_ASSIGN_OR_RETURN(of.where, host::YamlText(field.value, file, field.name));
    } else if (field.name == "scale") {
      GALEN_ASSIGN_OR_RETURN(of.scale, Number(field.value, file, field.name));
    } else if (field.name == "of") {
      GALEN_ASSIGN_OR_RETURN(of.of, host::YamlText(field.value, file, field.name));
      if (of.of != "gpu") return host::YamlError(field.value, file, "of: gpu, or is left out");
    } else {
      return Unknown(field, file, "metric, where, scale, of");
    }
  }
  const auto selector = Selector::Parse(of.metric + of.where);
  if (of.metric.empty() || !selector.ok()) {
    return host::YamlError(yaml, file,
                           absl::StrCat("metrics: no selector: ", selector.status().message()));
  }
  return of;
}

absl::StatusOr<Quantity> ParseQuantity(const host::Yaml& yaml, absl::string_view file) {
  Quantity quantity;
  for (const host::Yaml::Field& field : yaml.fields) {
    if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(quantity.name, host::YamlText(field.value, file, field.name));
    } else if (field.name == "unit") {
      GALEN_ASSIGN_OR_RETURN(quantity.unit, host::YamlText(field.value, file, field.name));
    } else if (field.name == "kind") {
      GALEN_ASSIGN_OR_RETURN(const std::string kind, host::YamlText(field.value, file, field.name));
      if (kind != "gauge" && kind != "counter")
        return host::YamlError(field.value, file, "kind: gauge or counter");
      quantity.counter = kind == "counter";
    } else if (field.name == "never_constant") {
      GALEN_ASSIGN_OR_RETURN(quantity.never_constant,
                             host::YamlBool(field.value, file, field.name));
    } else if (field.name == "metrics") {
      for (const host::Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(MetricOf of, ParseMetricOf(item, file));
        quantity.metrics.push_back(std::move(of));
      }
    } else {
      return Unknown(field, file, "name, unit, kind, never_constant, metrics");
    }
  }
  if (quantity.name.empty() || quantity.metrics.empty()) {
    return host::YamlError(yaml, file, "quantities: an entry needs a name and metrics");
  }
  return quantity;
}

// "n1" of "n1:9400". A name without a port, and an address of IPv6 in brackets, keep what they are.
std::string WithoutPort(const std::string& value) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string::npos || colon + 1 == value.size() || colon == 0) return value;
  if (!std::all_of(value.begin() + static_cast<std::ptrdiff_t>(colon) + 1, value.end(),
                   [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); })) {
    return value;
  }
  const bool bare_ipv6 = value.find(':') != colon && value[colon - 1] != ']';
  return bare_ipv6 ? value : value.substr(0, colon);
}

}  // namespace

bool Family::Has(absl::string_view metric) const {
  return re2::RE2::FullMatch(re2::StringPiece(metric.data(), metric.size()), *pattern);
}

Place Family::PlaceOf(const Labels& series) const {
  const auto find = [&](const char* field) -> std::string {
    const auto names = labels.find(field);
    if (names == labels.end()) return "";
    for (const std::string& label : names->second) {
      const auto value = series.find(label);
      if (value != series.end() && !value->second.empty()) return value->second;
    }
    return "";
  };
  return {WithoutPort(find("node")),
          find("device"),
          find("port"),
          find("uuid"),
          find("rank"),
          find("job")};
}

void Family::Forget(TimeSeries& series) const {
  for (series::Sample& sample : series.samples) {
    for (const Between& between : unknown) {
      if (sample.value >= between.from && sample.value <= between.to)
        sample.value = series::kUnknown;
    }
  }
}

const Family* Rules::FamilyOf(absl::string_view metric) const {
  for (const Family& family : families) {
    if (family.Has(metric)) return &family;
  }
  return nullptr;
}

const Quantity* Rules::Find(absl::string_view quantity) const {
  for (const Quantity& known : quantities) {
    if (known.name == quantity) return &known;
  }
  return nullptr;
}

absl::StatusOr<Rules> ParseRules(absl::string_view text, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const host::Yaml yaml, host::ParseYaml(text, file));
  Rules rules;
  for (const host::Yaml::Field& field : yaml.fields) {
    if (field.name == "families") {
      for (const host::Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Family family, ParseFamily(item, file));
        rules.families.push_back(std::move(family));
      }
    } else if (field.name == "quantities") {
      for (const host::Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Quantity quantity, ParseQuantity(item, file));
        if (rules.Find(quantity.name) != nullptr)
          return host::YamlError(item, file, absl::StrCat(quantity.name, ": twice"));
        rules.quantities.push_back(std::move(quantity));
      }
    } else {
      return Unknown(field, file, "families, quantities");
    }
  }
  if (rules.families.empty())
    return host::YamlError(yaml, file, "names no families; see docs/telemetry.md");
  return rules;
}

absl::StatusOr<Rules> LoadRules(const std::vector<std::string>& directories) {
  for (auto at = directories.rbegin(); at != directories.rend(); ++at) {
    const std::string path = absl::StrCat(*at, "/", kFile);
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error) continue;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    if (size <= kMostFile) text << in.rdbuf();
    if (!in || size > kMostFile) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": cannot be read, or has more than ", kMostFile, " bytes"));
    }
    return ParseRules(text.str(), path);
  }
  return absl::NotFoundError(absl::StrCat(kFile, ": no directory of the knowledge has it"));
}

}  // namespace galen::telemetry
