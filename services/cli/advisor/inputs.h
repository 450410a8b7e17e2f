#ifndef SERVICES_CLI_ADVISOR_INPUTS_H_
#define SERVICES_CLI_ADVISOR_INPUTS_H_

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "galen/advisor/v1/advisor.pb.h"

// Inputs of `galen advisor` from files and the command line.
namespace galen::cli {

// The whole file; "-" is `in`. NOT_FOUND; INVALID_ARGUMENT: more than `most` bytes.
absl::StatusOr<std::string> ReadInput(const std::string& path, std::istream& in,
                                      std::size_t most = 1 << 20);

// The key of signatures: the file without white space at its end.
absl::StatusOr<std::string> ReadKey(const std::string& path, std::istream& in);

// "NAME=VALUE". INVALID_ARGUMENT names the flag.
struct Setting {
  std::string name;
  std::string value;
};
absl::StatusOr<Setting> ParseSetting(absl::string_view flag, absl::string_view text);
absl::StatusOr<std::vector<Setting>> ParseSettingsOf(absl::string_view flag,
                                                     const std::vector<std::string>& texts);

// Parses the output of `galen advisor sign --json`.
absl::StatusOr<advisor::v1::Signature> ReadSignature(absl::string_view text,
                                                     absl::string_view file);

// Puts what a file says of the machines into the request: gpu, nic, driver, gpus_per_node,
// clock_limit, power_limit, settings, conditions, versions; all may be left out. YAML or JSON.
// INVALID_ARGUMENT "file:line: what; remedy".
absl::Status ReadHardware(absl::string_view text, absl::string_view file,
                          advisor::v1::RegisterJobRequest& request);

// "NAME=LEVEL", level 0 to 3.
absl::Status ParseSigns(const std::vector<std::string>& texts,
                        advisor::v1::ReportProgressRequest& request);

}  // namespace galen::cli

#endif  // SERVICES_CLI_ADVISOR_INPUTS_H_
