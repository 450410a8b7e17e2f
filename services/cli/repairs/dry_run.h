#ifndef SERVICES_CLI_REPAIRS_DRY_RUN_H_
#define SERVICES_CLI_REPAIRS_DRY_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/http/curl_transport.h"
#include "common/http/secret.h"
#include "galen/v1/action_service.pb.h"
#include "services/cli/terminal.h"

namespace galen::cli {

// Which gateway is asked for a dry run, and with which key.
struct DryRunArguments {
  std::string gateway;   // "https://galen.example:8443"
  std::string key_file;  // has the API key
  std::string ca_file;   // "": the system's authorities
};

// Asks the gateway behind `transport`; blocks for at most two minutes. INVALID_ARGUMENT `action` is
// not the name of an action; as of ActionService.DryRunAction; UNAVAILABLE and the like if the
// gateway cannot be reached; DATA_LOSS its answer is corrupt.
absl::StatusOr<galen::v1::DryRun> AskForDryRun(http::Transport& transport, const http::Secret& key,
                                               const std::string& action);

// The same of the gateway that the arguments name. INVALID_ARGUMENT also: a plain http:// address
// that is not loopback, where the key would cross the network in the clear, and a key file without
// a key.
absl::StatusOr<galen::v1::DryRun> AskForDryRun(const DryRunArguments& arguments,
                                               const std::string& action);

// For people: the planned commands, what was examined, and the current state of the target. Ends
// with a newline. Pure.
std::string DryRunText(const galen::v1::DryRun& dry_run, const Terminal& terminal);

}  // namespace galen::cli

#endif  // SERVICES_CLI_REPAIRS_DRY_RUN_H_
