// galen-summarization: serves SummarizationService.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/executor.h"
#include "common/base/hot_swap.h"
#include "common/base/status_macros.h"
#include "common/knowledge/load.h"
#include "common/knowledge/reload.h"
#include "common/observability/log/log.h"
#include "common/observability/metrics/process.h"
#include "common/phrases/outcome.h"
#include "common/reasoner/counted_reasoner.h"
#include "common/rpc/serve.h"
#include "common/service/flags/health_flag.h"
#include "common/service/flags/security_flags.h"
#include "common/service/service_main.h"
#include "services/summarization/make_summarizer.h"
#include "services/summarization/summarization_service.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50051", "Address to serve gRPC on.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, separated by commas; later ones overlay earlier ones. Empty: the "
          "one that came with the program.");
ABSL_FLAG(std::vector<std::string>, log_root, {},
          "Directories that logs and bundles may be read from; / for any place.");
ABSL_FLAG(int, threads, 4,
          "Incidents read at the same time; some more wait, further ones are refused.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace {

absl::Status Serve() {
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<galen::rpc::Security> security,
                         galen::rpc::Security::Open(
                             galen::rpc::SecurityFromFlags(galen::security::Role::kSummarization)));
  if (absl::GetFlag(FLAGS_log_root).empty()) {
    return absl::InvalidArgumentError(
        "--log_root: empty; name the directories that logs may be read from, or / for any place");
  }
  if (absl::GetFlag(FLAGS_threads) < 1) {
    return absl::InvalidArgumentError("--threads: must be 1 or more");
  }
  const std::string cache = galen::knowledge::DefaultCacheDirectory();
  GALEN_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         galen::knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge)));
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const galen::knowledge::Knowledge> knowledge,
                         galen::knowledge::Load(directories, {cache}));
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const galen::phrases::OutcomeWords> words,
                         galen::phrases::OutcomeWords::Load(directories));
  const galen::SystemClock clock;
  const auto make = [&](std::shared_ptr<const galen::knowledge::Knowledge> book) {
    return galen::summarization::MakeSummarizer(
        std::move(book), cache, clock, {.roots = absl::GetFlag(FLAGS_log_root), .words = words});
  };
  GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const galen::summarization::Summarizer> first,
                         make(knowledge));
  galen::HotSwap<galen::summarization::Summarizer> summarizer(std::move(first));
  galen::ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/64);
  galen::summarization::SummarizationServiceImpl service(summarizer, executor);
  galen::knowledge::ReloadOptions reload;
  reload.directories = directories;
  reload.cache_directory = cache;
  reload.apply = [&](std::shared_ptr<const galen::knowledge::Knowledge> loaded) -> absl::Status {
    GALEN_ASSIGN_OR_RETURN(std::shared_ptr<const galen::summarization::Summarizer> made,
                           make(std::move(loaded)));
    summarizer.Set(std::move(made));
    return absl::OkStatus();
  };
  reload.tell = [](const std::string& news) { galen::log::Info(news); };
  galen::knowledge::Reloader reloader(std::move(reload), *knowledge);
  reloader.Start();
  galen::rpc::ServeOptions options;
  options.on_hangup = [&reloader] { reloader.Reload(); };
  options.address = absl::GetFlag(FLAGS_listen);
  options.security = security.get();
  options.health_address = galen::rpc::HealthAddressFromFlag();
  options.drain_grace = absl::GetFlag(FLAGS_drain_grace);
  galen::metrics::Registry registry;
  registry.Add(galen::metrics::QueueNumbers("calls", executor));
  registry.Add(galen::reasoner::ProcessReasonerMetrics());
  GALEN_ASSIGN_OR_RETURN(const std::unique_ptr<galen::metrics::Server> metrics_server,
                         galen::service::ServeMetrics(registry));
  return galen::rpc::ServeUntilSignal(options, {&service});
}

}  // namespace

// The composition root: the only place that names concrete parts.
int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.summarization.v1.SummarizationService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  galen::rpc::BlockHangup();
  return galen::service::Run("galen-summarization", &Serve);
}
