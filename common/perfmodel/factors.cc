#include "common/perfmodel/factors.h"

#include "absl/strings/str_cat.h"

namespace galen::perfmodel {

absl::StatusOr<double> Factors::At(absl::string_view name) const {
  for (absl::string_view part = name;;) {
    if (const auto found = values_.find(std::string(part)); found != values_.end()) {
      return found->second;
    }
    const std::size_t dot = part.rfind('.');
    if (dot == absl::string_view::npos) break;
    part = part.substr(0, dot);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "factor ", name, ": nothing measured tells it; calibrate with a measurement of its kind"));
}

}  // namespace galen::perfmodel
