#include "bench/load/recording.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/host/bundle.h"
#include "common/knowledge/make_result.h"
#include "services/cli/local_mesh.h"

namespace galen::load {

using galen::v1::CheckResult;

absl::StatusOr<Recording> Recording::Make(const std::string& path,
                                          std::shared_ptr<const knowledge::Knowledge> knowledge) {
  GALEN_ASSIGN_OR_RETURN(const auto bundle, host::Bundle::Open(path));
  Recording recording;
  recording.incident_ = bundle->incident();
  recording.incident_.clear_bundle();
  for (galen::v1::LogSource& log : *recording.incident_.mutable_logs()) {
    const std::string file = absl::StrCat(bundle->root(), "/logs/", log.path());
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return absl::NotFoundError(absl::StrCat(file, ": cannot be read"));
    log.mutable_content()->assign(std::istreambuf_iterator<char>(stream), {});
  }
  const cli::LocalNode local(knowledge, {});
  node::v1::RunChecksRequest request;
  request.set_bundle(bundle->root());
  for (const auto& check : knowledge->base().checks()) request.add_checks(check.name());
  recording.incident_.clear_nodes();
  for (const std::string& node : bundle->nodes()) {
    recording.incident_.add_nodes(node);
    request.set_node(node);
    auto& results = recording.results_[node];
    GALEN_RETURN_IF_ERROR(local.executor.RunChecks(
        request, absl::InfiniteFuture(),
        [&](CheckResult result) { results[result.check()] = std::move(result); }));
  }
  return recording;
}

CheckResult Recording::ResultOf(const std::string& check, const std::string& node) const {
  const auto results = results_.find(node);
  if (results != results_.end()) {
    const auto found = results->second.find(check);
    if (found != results->second.end()) return found->second;
  }
  return knowledge::ResultWithoutFindings(check, node, CheckResult::SKIPPED, "was not recorded");
}

std::map<std::string, clients::NodeClient*> RecordedNodes::ByName() {
  std::map<std::string, clients::NodeClient*> nodes;
  for (const std::string& node : recording_.incident().nodes()) nodes[node] = this;
  return nodes;
}

clients::Cancel RecordedNodes::RunChecks(const node::v1::RunChecksRequest& request, absl::Time,
                                         clients::OnMessage<CheckResult> on_result,
                                         absl::AnyInvocable<void(absl::Status) &&> done) {
  auto ended = std::make_shared<absl::AnyInvocable<void(absl::Status) &&>>(std::move(done));
  const bool taken =
      pool_.TrySchedule([this, request, on_result = std::move(on_result), ended]() mutable {
        for (const std::string& check : request.checks()) {
          on_result(recording_.ResultOf(check, request.node()));
        }
        std::move (*ended)(absl::OkStatus());
      });
  if (!taken) std::move (*ended)(absl::ResourceExhaustedError("too many calls at the same time"));
  return clients::NoCancel();
}

void RecordedNodes::Describe(const node::v1::DescribeRequest&, absl::Time,
                             clients::Done<node::v1::DescribeResponse> done) {
  std::move(done)(node::v1::DescribeResponse());
}

}  // namespace galen::load
