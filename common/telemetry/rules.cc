#include "common/telemetry/rules.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/re2_piece.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/telemetry/selector.h"
#include "common/yaml/yaml.h"

namespace galen::telemetry {
namespace {

constexpr char kFile[] = "telemetry/sources.yaml";
constexpr std::array<absl::string_view, 6> kFields = {"node", "device", "port",
                                                      "uuid", "rank",   "job"};

absl::StatusOr<double> Number(const Yaml& value, absl::string_view file, absl::string_view field) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file, field));
  double number = 0;
  if (!absl::SimpleAtod(text, &number))
    return YamlError(value, file, absl::StrCat(field, ": write a number"));
  return number;
}

absl::Status Unknown(const Yaml::Field& field, absl::string_view file, absl::string_view known) {
  return YamlError(field.value, file, absl::StrCat(field.name, ": unknown; there are ", known));
}

absl::Status ParseLabels(const Yaml& yaml, absl::string_view file, Family& family) {
  for (const Yaml::Field& field : yaml.fields) {
    if (std::find(kFields.begin(), kFields.end(), field.name) == kFields.end()) {
      return Unknown(field, file, absl::StrJoin(kFields, ", "));
    }
    GALEN_ASSIGN_OR_RETURN(family.labels[field.name], YamlTexts(field.value, file, field.name));
  }
  return absl::OkStatus();
}

absl::Status ParseUnknown(const Yaml& yaml, absl::string_view file, Family& family) {
  for (const Yaml& item : yaml.items) {
    Family::Between between;
    for (const Yaml::Field& field : item.fields) {
      if (field.name != "from" && field.name != "to") return Unknown(field, file, "from, to");
      GALEN_ASSIGN_OR_RETURN((field.name == "from" ? between.from : between.to),
                             Number(field.value, file, field.name));
    }
    if (between.from > between.to) return YamlError(item, file, "unknown: from is more than to");
    family.unknown.push_back(between);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const re2::RE2>> Pattern(const Yaml& value, absl::string_view file,
                                                        absl::string_view field) {
  GALEN_ASSIGN_OR_RETURN(const std::string text, YamlText(value, file, field));
  auto pattern = std::make_shared<const re2::RE2>(text, re2::RE2::Quiet);
  if (!pattern->ok()) return YamlError(value, file, absl::StrCat(field, ": ", pattern->error()));
  return pattern;
}

absl::StatusOr<Family> ParseFamily(const Yaml& yaml, absl::string_view file) {
  Family family;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "labels") {
      GALEN_RETURN_IF_ERROR(ParseLabels(field.value, file, family));
    } else if (field.name == "unknown") {
      GALEN_RETURN_IF_ERROR(ParseUnknown(field.value, file, family));
    } else if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(family.name, YamlText(field.value, file, field.name));
    } else if (field.name == "title") {
      GALEN_ASSIGN_OR_RETURN(family.title, YamlText(field.value, file, field.name));
    } else if (field.name == "device") {
      GALEN_ASSIGN_OR_RETURN(family.device, YamlText(field.value, file, field.name));
    } else if (field.name == "metrics") {
      GALEN_ASSIGN_OR_RETURN(family.metrics, YamlText(field.value, file, field.name));
    } else if (field.name == "clears") {
      GALEN_ASSIGN_OR_RETURN(family.clears, YamlText(field.value, file, field.name));
    } else if (field.name == "errors") {
      GALEN_ASSIGN_OR_RETURN(family.errors, Pattern(field.value, file, field.name));
    } else if (field.name != "source") {
      return Unknown(field, file,
                     "name, title, metrics, device, clears, errors, labels, unknown, source");
    }
  }
  if (family.name.empty() || family.metrics.empty() || family.labels["node"].empty()) {
    return YamlError(yaml, file,
                     "families: an entry needs a name, metrics, and labels of the node");
  }
  family.pattern = std::make_shared<const re2::RE2>(family.metrics, re2::RE2::Quiet);
  if (!family.pattern->ok())
    return YamlError(yaml, file, absl::StrCat("metrics: ", family.pattern->error()));
  return family;
}

absl::StatusOr<bool> CounterOf(const Yaml& value, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const std::string kind, YamlText(value, file, "kind"));
  if (kind != "gauge" && kind != "counter") return YamlError(value, file, "kind: gauge or counter");
  return kind == "counter";
}

absl::StatusOr<MetricOf> ParseMetricOf(const Yaml& yaml, absl::string_view file) {
  MetricOf of;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "metric") {
      GALEN_ASSIGN_OR_RETURN(of.metric, YamlText(field.value, file, field.name));
    } else if (field.name == "where") {
      GALEN_ASSIGN_OR_RETURN(of.where, YamlText(field.value, file, field.name));
    } else if (field.name == "scale") {
      GALEN_ASSIGN_OR_RETURN(of.scale, Number(field.value, file, field.name));
    } else if (field.name == "of") {
      GALEN_ASSIGN_OR_RETURN(of.of, YamlText(field.value, file, field.name));
      if (of.of != "gpu") return YamlError(field.value, file, "of: gpu, or is left out");
    } else if (field.name == "mask") {
      GALEN_ASSIGN_OR_RETURN(const double mask, Number(field.value, file, field.name));
      if (!(mask >= 1 && mask < 9e15))
        return YamlError(field.value, file, "mask: write a whole number above 0");
      of.mask = static_cast<std::uint64_t>(mask);
    } else if (field.name == "value_of") {
      GALEN_ASSIGN_OR_RETURN(of.value_of, YamlText(field.value, file, field.name));
    } else if (field.name == "kind") {
      GALEN_ASSIGN_OR_RETURN(of.counter, CounterOf(field.value, file));
    } else {
      return Unknown(field, file, "metric, where, scale, of, mask, value_of, kind");
    }
  }
  const auto selector = Selector::Parse(of.metric + of.where);
  if (of.metric.empty() || !selector.ok()) {
    return YamlError(yaml, file,
                     absl::StrCat("metrics: no selector: ", selector.status().message()));
  }
  return of;
}

absl::StatusOr<Quantity> ParseQuantity(const Yaml& yaml, absl::string_view file) {
  Quantity quantity;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(quantity.name, YamlText(field.value, file, field.name));
    } else if (field.name == "unit") {
      GALEN_ASSIGN_OR_RETURN(quantity.unit, YamlText(field.value, file, field.name));
    } else if (field.name == "kind") {
      GALEN_ASSIGN_OR_RETURN(quantity.counter, CounterOf(field.value, file));
    } else if (field.name == "among") {
      GALEN_ASSIGN_OR_RETURN(const std::string among, YamlText(field.value, file, field.name));
      if (among != "first" && among != "singly")
        return YamlError(field.value, file, "among: first or singly, or is left out");
      quantity.among = among == "first" ? Among::kFirst : Among::kSingly;
    } else if (field.name == "never_constant") {
      GALEN_ASSIGN_OR_RETURN(quantity.never_constant, YamlBool(field.value, file, field.name));
    } else if (field.name == "metrics") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(MetricOf of, ParseMetricOf(item, file));
        quantity.metrics.push_back(std::move(of));
      }
    } else {
      return Unknown(field, file, "name, unit, kind, among, never_constant, metrics");
    }
  }
  if (quantity.name.empty() || quantity.metrics.empty()) {
    return YamlError(yaml, file, "quantities: an entry needs a name and metrics");
  }
  return quantity;
}

absl::StatusOr<Naming> ParseNaming(const Yaml& yaml, absl::string_view file) {
  Naming naming;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "of") {
      GALEN_ASSIGN_OR_RETURN(naming.of, YamlTexts(field.value, file, field.name));
    } else if (field.name == "metric") {
      GALEN_ASSIGN_OR_RETURN(naming.metric, YamlText(field.value, file, field.name));
    } else if (field.name == "where") {
      GALEN_ASSIGN_OR_RETURN(naming.where, YamlText(field.value, file, field.name));
    } else if (field.name == "name") {
      GALEN_ASSIGN_OR_RETURN(naming.name, YamlText(field.value, file, field.name));
    } else {
      return Unknown(field, file, "metric, where, of, name");
    }
  }
  if (naming.of.empty() || naming.name.empty() ||
      !Selector::Parse(naming.metric + naming.where).ok() || naming.metric.empty()) {
    return YamlError(yaml, file, "names: an entry needs a metric, of and name");
  }
  return naming;
}

absl::StatusOr<Waiver> ParseWaiver(const Yaml& yaml, absl::string_view file) {
  Waiver waiver;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "metrics") {
      GALEN_ASSIGN_OR_RETURN(waiver.pattern, Pattern(field.value, file, field.name));
      waiver.metrics = waiver.pattern->pattern();
    } else if (field.name == "why") {
      GALEN_ASSIGN_OR_RETURN(waiver.why, YamlText(field.value, file, field.name));
    } else {
      return Unknown(field, file, "metrics, why");
    }
  }
  if (waiver.pattern == nullptr || waiver.why.empty())
    return YamlError(yaml, file, "waived: an entry needs metrics and why");
  return waiver;
}

// "throughput: our_tokens_per_second": a site's own name of a quantity, in one line.
absl::StatusOr<Quantity> ParseOwnName(const Yaml::Field& field, absl::string_view file) {
  GALEN_ASSIGN_OR_RETURN(const std::string selector, YamlText(field.value, file, field.name));
  if (!Selector::Parse(selector).ok())
    return YamlError(field.value, file, absl::StrCat(field.name, ": is not a selector"));
  const std::size_t brace = std::min(selector.find('{'), selector.size());
  Quantity quantity;
  quantity.name = field.name;
  quantity.metrics.push_back(
      {.metric = selector.substr(0, brace), .where = selector.substr(brace)});
  return quantity;
}

// Entries of `more` take precedence.
absl::Status PutOnTop(Rules more, absl::string_view file, Rules& rules) {
  for (Quantity& quantity : more.quantities) {
    const auto known =
        std::find_if(rules.quantities.begin(), rules.quantities.end(),
                     [&](const Quantity& each) { return each.name == quantity.name; });
    if (known != rules.quantities.end()) {
      known->metrics.insert(known->metrics.begin(), quantity.metrics.begin(),
                            quantity.metrics.end());
    } else if (quantity.unit.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": ", quantity.name, ": is not a quantity; give it a unit under quantities"));
    } else {
      rules.quantities.push_back(std::move(quantity));
    }
  }
  const auto before = [](auto& first, auto& all) {
    all.insert(all.begin(), std::make_move_iterator(first.begin()),
               std::make_move_iterator(first.end()));
  };
  before(more.families, rules.families);
  before(more.names, rules.names);
  before(more.waived, rules.waived);
  return absl::OkStatus();
}

}  // namespace

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

bool Family::Has(absl::string_view metric) const {
  return re2::RE2::FullMatch(re2::StringPiece(metric.data(), metric.size()), *pattern);
}

Place Family::PlaceOf(const Labels& series) const {
  const auto find = [&](const char* field) -> std::string {
    if (const auto machine = series.find(kMachine);
        machine != series.end() && absl::string_view(field) == "node") {
      return machine->second;
    }
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
  for (timeseries::Sample& sample : series.samples) {
    for (const Between& between : unknown) {
      if (sample.value >= between.from && sample.value <= between.to)
        sample.value = timeseries::kUnknown;
    }
  }
}

const Family* Rules::FamilyOf(absl::string_view metric) const {
  for (const Family& family : families) {
    if (family.Has(metric)) return &family;
  }
  return nullptr;
}

Place Rules::PlaceOf(const Labels& labels) const {
  const auto name = labels.find(kMetricName);
  const Family* const own = name == labels.end() ? nullptr : FamilyOf(name->second);
  if (own != nullptr) return own->PlaceOf(labels);
  Place place;
  for (const Family& family : families) {
    const Place found = family.PlaceOf(labels);
    for (std::string Place::*const field :
         {&Place::node, &Place::device, &Place::port, &Place::uuid, &Place::rank, &Place::job}) {
      if ((place.*field).empty()) place.*field = found.*field;
    }
  }
  return place;
}

const Waiver* Rules::WaiverOf(absl::string_view metric) const {
  const re2::StringPiece text = Piece(metric);
  for (const Waiver& waiver : waived) {
    if (re2::RE2::FullMatch(text, *waiver.pattern)) return &waiver;
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
  GALEN_ASSIGN_OR_RETURN(const Yaml yaml, ParseYaml(text, file));
  Rules rules;
  for (const Yaml::Field& field : yaml.fields) {
    if (field.name == "families") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Family family, ParseFamily(item, file));
        rules.families.push_back(std::move(family));
      }
    } else if (field.name == "quantities") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Quantity quantity, ParseQuantity(item, file));
        if (rules.Find(quantity.name) != nullptr)
          return YamlError(item, file, absl::StrCat(quantity.name, ": twice"));
        rules.quantities.push_back(std::move(quantity));
      }
    } else if (field.name == "series") {
      for (const Yaml::Field& own : field.value.fields) {
        GALEN_ASSIGN_OR_RETURN(Quantity quantity, ParseOwnName(own, file));
        rules.quantities.push_back(std::move(quantity));
      }
    } else if (field.name == "names") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Naming naming, ParseNaming(item, file));
        rules.names.push_back(std::move(naming));
      }
    } else if (field.name == "waived") {
      for (const Yaml& item : field.value.items) {
        GALEN_ASSIGN_OR_RETURN(Waiver waiver, ParseWaiver(item, file));
        rules.waived.push_back(std::move(waiver));
      }
    } else {
      return Unknown(field, file, "families, quantities, series, names, waived");
    }
  }
  if (rules.families.empty() && rules.quantities.empty())
    return YamlError(yaml, file, "names neither families nor quantities; see docs/telemetry.md");
  return rules;
}

absl::StatusOr<Rules> LoadRules(const std::vector<std::string>& directories) {
  Rules rules;
  bool any = false;
  for (const std::string& directory : directories) {
    const std::string path = absl::StrCat(directory, "/", kFile);
    const absl::StatusOr<std::string> text = ReadSmallFile(path);
    if (absl::IsNotFound(text.status())) continue;
    GALEN_RETURN_IF_ERROR(text.status());
    GALEN_ASSIGN_OR_RETURN(Rules more, ParseRules(*text, path));
    GALEN_RETURN_IF_ERROR(PutOnTop(std::move(more), path, rules));
    any = true;
  }
  if (any) return rules;
  return absl::NotFoundError(absl::StrCat(kFile, ": no directory of the knowledge has it"));
}

}  // namespace galen::telemetry
