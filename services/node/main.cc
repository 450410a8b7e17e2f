// galen-node: serves NodeService.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "common/base/executor.h"
#include "common/knowledge/load.h"
#include "common/rpc/serve.h"
#include "services/node/executor.h"
#include "services/node/host_source.h"
#include "services/node/node_service.h"
#include "services/node/registry.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50054", "Address to serve gRPC on.");
ABSL_FLAG(std::string, host, "", "Name of this machine; empty: its own.");
ABSL_FLAG(std::vector<std::string>, bundle_root, {},
          "Directories that bundles must lie below, by comma; none: no bundle is served.");
ABSL_FLAG(std::vector<std::string>, knowledge, {},
          "Knowledge directories, by comma; later ones overlay earlier ones.");
ABSL_FLAG(int, max_parallel, 4, "Checks of one call that run at the same time.");
ABSL_FLAG(absl::Duration, check_timeout, absl::Seconds(30), "What one check may take.");
ABSL_FLAG(int, threads, 4, "Calls worked on at the same time.");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(20), "How long to drain after SIGTERM.");

namespace galen::node {
namespace {

absl::Status Serve() {
  if (absl::GetFlag(FLAGS_max_parallel) < 1 || absl::GetFlag(FLAGS_threads) < 1) {
    return absl::InvalidArgumentError("--max_parallel and --threads: must be 1 or more");
  }
  if (absl::GetFlag(FLAGS_check_timeout) <= absl::ZeroDuration() ||
      absl::GetFlag(FLAGS_check_timeout) > absl::Hours(1)) {
    return absl::InvalidArgumentError("--check_timeout: must lie above 0 and at most at 1h");
  }
  const auto directories = knowledge::FindDirectories(absl::GetFlag(FLAGS_knowledge));
  if (!directories.ok()) return directories.status();
  const auto knowledge =
      knowledge::Load(*directories, {.cache_directory = knowledge::DefaultCacheDirectory()});
  if (!knowledge.ok()) return knowledge.status();

  // A caller of the network reads no bundle unless it is said which.
  std::vector<std::string> roots = absl::GetFlag(FLAGS_bundle_root);
  const LocalHosts hosts({.name = absl::GetFlag(FLAGS_host),
                          .bundle_roots = std::move(roots),
                          .bundles_anywhere = false});
  NodeExecutor::Options options;
  options.max_parallel = absl::GetFlag(FLAGS_max_parallel);
  options.check_timeout = absl::GetFlag(FLAGS_check_timeout);
  const NodeExecutor node(hosts, *knowledge, AllChecks(), options);
  ThreadPool executor(absl::GetFlag(FLAGS_threads), /*max_queued=*/256);
  NodeServiceImpl service(node, executor);
  return rpc::ServeUntilSignal(
      {.address = absl::GetFlag(FLAGS_listen), .drain_grace = absl::GetFlag(FLAGS_drain_grace)},
      {&service});
}

}  // namespace
}  // namespace galen::node

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("serves galen.node.v1.NodeService");
  absl::ParseCommandLine(argc, argv);
  galen::rpc::BlockTerminationSignals();
  const absl::Status status = galen::node::Serve();
  if (!status.ok()) std::cerr << "galen-node: " << status.message() << std::endl;
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
