#ifndef SERVICES_CLI_PERFMODEL_STEADY_H_
#define SERVICES_CLI_PERFMODEL_STEADY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/perfmodel/steady_mean.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// Samples in the order in which they were taken. From a file with one number per line; or, with
// `column`, from lines of fields separated by commas: the column by its name in the first line, or
// by its number from 1 on, where a first line without a number there is a head. Empty lines do not
// count. INVALID_ARGUMENT "file:line: what; remedy".
absl::StatusOr<std::vector<double>> ReadSamples(absl::string_view text, absl::string_view file,
                                                absl::string_view column);

// Output of `galen model steady`: the mean, its interval, the samples left out, and whether the
// mean is known as well as `rule` asks.
std::string SteadyText(absl::Span<const double> samples, const perfmodel::StopRule& rule,
                       const Terminal& terminal);
std::string SteadyJson(absl::Span<const double> samples, const perfmodel::StopRule& rule);

}  // namespace galen::cli

#endif  // SERVICES_CLI_PERFMODEL_STEADY_H_
