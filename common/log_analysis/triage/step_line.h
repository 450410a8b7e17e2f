#ifndef COMMON_LOG_ANALYSIS_TRIAGE_STEP_LINE_H_
#define COMMON_LOG_ANALYSIS_TRIAGE_STEP_LINE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "common/log_analysis/triage/catalogue.h"

namespace galen::triage {

// The numbers of a step in a line. All are finite, except the loss.
class StepLine {
 public:
  std::optional<double> Get(Quantity quantity) const {
    if ((has_ >> static_cast<int>(quantity) & 1) == 0) return std::nullopt;
    return values_[static_cast<std::size_t>(quantity)];
  }
  void Set(Quantity quantity, double value) {
    has_ |= 1U << static_cast<int>(quantity);
    values_[static_cast<std::size_t>(quantity)] = value;
  }
  bool Has(Quantity quantity) const { return (has_ >> static_cast<int>(quantity) & 1) != 0; }

  // Seconds of a step, from the field that the line has.
  std::optional<double> Seconds() const;

  std::int64_t step = -1;   // -1: none (a server's report)
  std::int64_t total = -1;  // -1: none

 private:
  std::array<double, kQuantities> values_ = {};  // valid if the bit in has_ is set
  std::uint32_t has_ = 0;
};

// The largest valid step number.
inline constexpr std::int64_t kMostSteps = 1'000'000'000'000;

// Reads `line` by `format`; nothing: it has no step. `line` must match the format's expression.
// Pure; linear in the line and the fields.
std::optional<StepLine> ReadStepLine(const StepFormat& format, absl::string_view line);

// The text before the last progress bar of a line: "steps: " of "steps:  18%|█ | 507/2800 [". Pure.
absl::string_view BarName(absl::string_view line);

}  // namespace galen::triage

#endif  // COMMON_LOG_ANALYSIS_TRIAGE_STEP_LINE_H_
