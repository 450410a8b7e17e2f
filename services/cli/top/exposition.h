#ifndef SERVICES_CLI_TOP_EXPOSITION_H_
#define SERVICES_CLI_TOP_EXPOSITION_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::cli::top {

// One line of what a program tells in numbers.
struct Series {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// Reads Prometheus' text format 0.0.4, comments left out. INVALID_ARGUMENT names the line that is
// none, or says that there are more than 200,000. Hostile input is fine. Pure.
absl::StatusOr<std::vector<Series>> ParseExposition(absl::string_view text);

}  // namespace galen::cli::top

#endif  // SERVICES_CLI_TOP_EXPOSITION_H_
