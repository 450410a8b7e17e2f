// galen-planning: serves PlanningService.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/knowledge/reload.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/reasoner/counted_reasoner.h"
#include "common/reasoner/llm/open_model.h"
#include "common/reasoner/llm/reasoned.h"
#include "common/reasoner/site_history.h"
#include "common/rpc/serve.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "services/planning/planner.h"
#include "services/planning/planning_service.h"
#include "services/planning/playbook_texts.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50052", "Address to serve gRPC on.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones.");
ABSL_FLAG(std::string, llm, "",
          "Endpoint file of a language model (docs/llm.md); none: nothing is sent anywhere.");
ABSL_FLAG(std::string, llm_cache, "",
          "SQLite file or Redis URL (docs/store.md) for the model's answers; none: in memory.");
ABSL_FLAG(std::string, history, "",
          "Directory of the site's own past incidents (`galen kb history`); only one process can "
          "open it at a time. None: only those of the knowledge.");
ABSL_FLAG(int, threads, 4, "Calls worked on at the same time.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::planning {
namespace {

absl::Status Serve() {
  const auto security = rpc::Security::Open(rpc::SecurityFromFlags(security::Role::kPlanning));
  if (!security.ok()) return security.status();
  if (absl::GetFlag(FLAGS_threads) < 1) {
    return absl::InvalidArgumentError("--threads: must be 1 or more");
  }
  const auto directories = knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge));
  if (!directories.ok()) return directories.status();
  const auto knowledge =
      knowledge::Load(*directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
  if (!knowledge.ok()) return knowledge.status();
  const auto model = reasoner::llm::OpenedModel::Open(absl::GetFlag(FLAGS_llm),
                                                      absl::GetFlag(FLAGS_llm_cache), *directories);
  if (!model.ok()) return model.status();
  std::unique_ptr<const reasoner::SiteHistory> history;
  if (!absl::GetFlag(FLAGS_history).empty()) {
    GALEN_ASSIGN_OR_RETURN(history, reasoner::SiteHistory::Open(absl::GetFlag(FLAGS_history)));
  }
  const incident_history::Store* const confirmed = history == nullptr ? nullptr : &history->store();
  const auto make = [&](std::shared_ptr<const knowledge::Knowledge> loaded)
      -> absl::StatusOr<std::shared_ptr<const Planner>> {
    GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const PlaybookTexts> playbooks,
                           PlaybookTexts::Load(*directories));
    return reasoner::llm::MakeReasoned<Planner>(std::move(loaded), PlannersModelOf(model->get()),
                                                confirmed, playbooks);
  };
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const Planner> first, make(*knowledge));
  HotSwap<Planner> planner(std::move(first));
  ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/1024);
  PlanningServiceImpl service(planner, executor);
  knowledge::Reloader reloader(
      {.directories = *directories,
       .cache_directory = knowledge::DefaultCacheDirectory(),
       .apply = [&planner,
                 &make](std::shared_ptr<const knowledge::Knowledge> loaded) -> absl::Status {
         GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const Planner> newer, make(std::move(loaded)));
         planner.Set(std::move(newer));
         return absl::OkStatus();
       },
       .tell = [](const std::string& news) { log::Info(news); }},
      **knowledge);
  reloader.Start();
  metrics::Registry registry;
  registry.Add(metrics::QueueNumbers("calls", executor));
  registry.Add(reasoner::ProcessReasonerMetrics());
  reasoner::llm::Register(model->get(), registry);
  const auto metrics_server = service::ServeMetrics(registry);
  if (!metrics_server.ok()) return metrics_server.status();
  return rpc::ServeUntilSignal({.address = absl::GetFlag(FLAGS_listen),
                                .security = security->get(),
                                .health_address = rpc::HealthAddressFromFlag(),
                                .drain_grace = absl::GetFlag(FLAGS_drain_grace),
                                .on_hangup = [&reloader] { reloader.Reload(); }},
                               {&service});
}

}  // namespace
}  // namespace galen::planning

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.planning.v1.PlanningService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  galen::rpc::BlockHangup();
  return galen::service::Run("galen-planning", &galen::planning::Serve);
}
