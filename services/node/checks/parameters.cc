#include "services/node/checks/parameters.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/text.h"

namespace galen::node {
namespace {

using knowledge::v1::Parameter;

constexpr std::size_t kMaxTextBytes = 256;

// The fault of `value`; "" if it is valid.
std::string Fault(const Parameter& parameter, const std::string& value) {
  if (parameter.type() == "bool") {
    return value == "true" || value == "false" ? "" : "is neither true nor false";
  }
  if (parameter.type() == "text") {
    if (value.size() > kMaxTextBytes) return "is longer than 256 bytes";
    if (value.find('\0') != std::string::npos) return "holds a NUL byte";
    if (parameter.choices().empty()) return "";
    const bool offered = std::find(parameter.choices().begin(), parameter.choices().end(), value) !=
                         parameter.choices().end();
    return offered ? "" : absl::StrCat("is none of ", absl::StrJoin(parameter.choices(), ", "));
  }
  double number = 0;
  std::int64_t whole = 0;
  const bool reads = parameter.type() == "int" ? absl::SimpleAtoi(value, &whole)
                                               : absl::SimpleAtod(value, &number);
  if (parameter.type() == "int") number = static_cast<double>(whole);
  if (!reads || !std::isfinite(number)) {
    return parameter.type() == "int" ? "is not a whole number" : "is not a number";
  }
  if ((parameter.has_min() && number < parameter.min()) ||
      (parameter.has_max() && number > parameter.max())) {
    return absl::StrFormat("lies outside %.15g to %.15g", parameter.min(), parameter.max());
  }
  return "";
}

}  // namespace

absl::StatusOr<Parameters> Parameters::Resolve(const knowledge::v1::Check& spec,
                                               const galen::v1::CheckParameters& asked) {
  Parameters parameters;
  for (const Parameter& parameter : spec.parameters()) {
    parameters.values_[parameter.name()] = parameter.default_value();
  }
  for (const auto& [name, value] : asked.values()) {
    const auto declared =
        std::find_if(spec.parameters().begin(), spec.parameters().end(),
                     [&name = name](const Parameter& known) { return known.name() == name; });
    if (declared == spec.parameters().end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(spec.name(), " has no parameter \"", CleanText(name, 64),
                       "\"; `galen checks list --json` lists the parameters"));
    }
    const std::string fault = Fault(*declared, value);
    if (!fault.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(spec.name(), ": ", name, " = \"", CleanText(value, 64), "\" ", fault));
    }
    parameters.values_[name] = value;
  }
  return parameters;
}

std::int64_t Parameters::Integer(absl::string_view name) const {
  std::int64_t value = 0;
  return absl::SimpleAtoi(Text(name), &value) ? value : 0;
}

double Parameters::Number(absl::string_view name) const {
  double value = 0;
  return absl::SimpleAtod(Text(name), &value) ? value : 0;
}

bool Parameters::Flag(absl::string_view name) const { return Text(name) == "true"; }

const std::string& Parameters::Text(absl::string_view name) const {
  static const std::string none;
  const auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

}  // namespace galen::node
