#ifndef SERVICES_CLI_SETTINGS_H_
#define SERVICES_CLI_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "galen/v1/evidence.pb.h"

namespace galen::cli {

// Parameters of checks as they were set: "rdma.pair.seconds=2" is of the check rdma.pair.
// INVALID_ARGUMENT one that is not CHECK.NAME=VALUE.
absl::StatusOr<std::vector<v1::CheckParameters>> ParseSettings(
    const std::vector<std::string>& settings);

}  // namespace galen::cli

#endif  // SERVICES_CLI_SETTINGS_H_
