#include "services/node/checks/gpu/nvml_device.h"

#include <cmath>

namespace galen::node::nvml {
namespace {

constexpr std::size_t kMaxReadings = 200000;

std::optional<double> NumberOf(const FieldValue& field) {
  switch (field.type) {
    case 0:
      if (!std::isfinite(field.value.d)) return std::nullopt;
      return field.value.d;
    case 1:
      return field.value.ui;
    case 2:
      return static_cast<double>(field.value.ul);
    case 3:
      return static_cast<double>(field.value.ull);
    case 4:
      return static_cast<double>(field.value.sll);
    case 5:
      return field.value.si;
    case 6:
      return field.value.us;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> DeviceReader::Field(unsigned field, unsigned scope) {
  FieldValue value{};
  value.field = field;
  value.scope = scope;
  Return code = Call(api_.fields, 1, &value);
  if (code == kSuccess) code = value.result;
  std::optional<double> number;
  if (code == kSuccess) number = NumberOf(value);
  Note(absl::StrCat("field ", field, " scope ", scope), code,
       number.has_value() ? absl::StrCat(*number) : std::string());
  return number;
}

void DeviceReader::Note(absl::string_view name, Return code, absl::string_view value) {
  // A function that the library does not have tells nothing.
  if (code == kFunctionNotFound || readings_.size() >= kMaxReadings) return;
  readings_.push_back(
      {.gpu = gpu_.index,
       .section = section_,
       .text = absl::StrCat(name, ": ", code == kSuccess ? value : ErrorText(api_, code))});
}

}  // namespace galen::node::nvml
