#ifndef COMMON_SERVICE_SERVICE_MAIN_H_
#define COMMON_SERVICE_SERVICE_MAIN_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/observability/metrics/server.h"

// The flags --metrics, --log_format and --log_calls of every service.
namespace galen::service {

// The rest of a main(), once the flags are parsed: logs as `name`, serves, and logs the error that
// serving ended with. The exit code of the program.
int Run(absl::string_view name, absl::FunctionRef<absl::Status()> serve);

// Serves what is in `registry`, and what every program has, where --metrics says; null when it is
// empty. What the registry asks must outlive the server: make it last. The errors of
// metrics::Server::Start().
absl::StatusOr<std::unique_ptr<metrics::Server>> ServeMetrics(metrics::Registry& registry);

}  // namespace galen::service

#endif  // COMMON_SERVICE_SERVICE_MAIN_H_
