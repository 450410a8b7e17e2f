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

// Serves the metrics of `registry`, and those of every program, at the address of --metrics; null
// when it is empty. The registry's sources must outlive the server: make it last. The errors of
// metrics::Server::Start().
absl::StatusOr<std::unique_ptr<metrics::Server>> ServeMetrics(metrics::Registry& registry);

}  // namespace galen::service

#endif  // COMMON_SERVICE_SERVICE_MAIN_H_
