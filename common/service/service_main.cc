#include "common/service/service_main.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/file_limit.h"
#include "common/base/locks.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/rpc/observe.h"

ABSL_FLAG(std::string, metrics, "",
          "PORT of the loopback interface, or ADDRESS:PORT, to serve Prometheus metrics on; none: "
          "they are not served.");
ABSL_FLAG(std::string, log_format, "auto",
          "How events are written to standard error, a line each: text, json, or auto: text on a "
          "terminal, JSON elsewhere.");

ABSL_FLAG(bool, log_calls, false, "Log a line for each call that is answered.");

namespace galen::service {

int Run(absl::string_view name, absl::FunctionRef<absl::Status()> serve) {
  ForgetLockOrders();
  RaiseFileLimit();
  const absl::StatusOr<log::Format> format =
      log::ParseFormat(absl::GetFlag(FLAGS_log_format), STDERR_FILENO);
  log::Configure(std::string(name), format.value_or(log::Format::kText));
  rpc::LogCalls(absl::GetFlag(FLAGS_log_calls));
  const absl::Status status =
      format.ok()
          ? serve()
          : absl::InvalidArgumentError(absl::StrCat("--log_format: ", format.status().message()));
  if (!status.ok()) log::Error(status.message());
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

absl::StatusOr<std::unique_ptr<metrics::Server>> ServeMetrics(metrics::Registry& registry) {
  metrics::AddProgram(registry);
  return metrics::Serve(absl::GetFlag(FLAGS_metrics), registry);
}

}  // namespace galen::service
