// galen-advisor: serves AdvisorService.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/knowledge/load.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/rpc/serve.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "common/store/store.h"
#include "services/advisor/advisor.h"
#include "services/advisor/advisor_service.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50059", "Address to serve gRPC on.");
ABSL_FLAG(std::string, store, "",
          "SQLite file or Redis URL (docs/store.md) that keeps recorded runs and what was learned. "
          "Required; several galen-advisor share one.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones.");
ABSL_FLAG(double, false_discoveries, 0.05,
          "Share of the patterns that may be false on average, between 0 and 0.5.");
ABSL_FLAG(absl::Duration, follow, absl::Seconds(10), "How often recorded runs are read.");
ABSL_FLAG(std::int64_t, keep, 1'000'000,
          "Records of reported runs, each of up to 1,000, that stay in the store.");
ABSL_FLAG(int, threads, 2, "Calls that write or learn at the same time.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::advisor {
namespace {

absl::Status Serve() {
  if (absl::GetFlag(FLAGS_store).empty()) {
    return absl::InvalidArgumentError("--store: name an SQLite file or a Redis URL");
  }
  const double q = absl::GetFlag(FLAGS_false_discoveries);
  if (!(q > 0 && q <= 0.5)) {
    return absl::InvalidArgumentError("--false_discoveries: must be above 0 and at most 0.5");
  }
  if (absl::GetFlag(FLAGS_keep) < 1024) {
    return absl::InvalidArgumentError("--keep: must be at least 1,024");
  }
  if (absl::GetFlag(FLAGS_threads) < 1 || absl::GetFlag(FLAGS_follow) <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--threads, --follow: must be above 0");
  }
  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kAdvisor));
  if (!security.ok()) return security.status();
  const auto directories = knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge));
  if (!directories.ok()) return directories.status();
  const auto loaded = AdvisorKnowledge::Load(*directories);
  if (!loaded.ok()) return loaded.status();
  HotSwap<AdvisorKnowledge> knowledge(*loaded);
  const auto store = store::OpenStore(absl::GetFlag(FLAGS_store));
  if (!store.ok()) return store.status();
  for (const std::string& warning : (*store)->warnings()) {
    log::Warning(absl::StrCat((*store)->Describe(), ": ", warning));
  }
  const SystemClock clock;
  Advisor::Options options;
  options.learner.q = q;
  options.keep = absl::GetFlag(FLAGS_keep);
  Advisor advisor(**store, knowledge, clock, options);
  if (const absl::Status status = advisor.Follow(); !status.ok()) return status;
  absl::Notification ending;
  std::thread follower([&] {
    while (!ending.WaitForNotificationWithTimeout(absl::GetFlag(FLAGS_follow))) {
      const absl::Status status = advisor.Follow();
      if (!status.ok()) log::Warning(std::string(status.message()));
    }
  });
  ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/1024);
  AdvisorServiceImpl service(advisor, executor, (*security)->guard());
  metrics::Registry registry;
  registry.Add(metrics::QueueNumbers("calls", executor));
  const auto metrics_server = service::ServeMetrics(registry);
  const absl::Status status =
      !metrics_server.ok()
          ? metrics_server.status()
          : rpc::ServeUntilSignal({.address = absl::GetFlag(FLAGS_listen),
                                   .security = security->get(),
                                   .health_address = rpc::HealthAddressFromFlag(),
                                   .drain_grace = absl::GetFlag(FLAGS_drain_grace),
                                   .on_hangup =
                                       [&] {
                                         const auto newer = AdvisorKnowledge::Load(*directories);
                                         if (newer.ok()) {
                                           knowledge.Set(*newer);
                                           log::Info("the knowledge was read again");
                                         } else {
                                           log::Warning(std::string(newer.status().message()));
                                         }
                                       }},
                                  {&service});
  ending.Notify();
  follower.join();
  return status;
}

}  // namespace
}  // namespace galen::advisor

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.advisor.v1.AdvisorService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  galen::rpc::BlockHangup();
  return galen::service::Run("galen-advisor", &galen::advisor::Serve);
}
