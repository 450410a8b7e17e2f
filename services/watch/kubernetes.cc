#include "services/watch/kubernetes.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/observability/log/log.h"
#include "common/remediation/approval_store.h"
#include "common/remediation/node_actions.h"
#include "common/store/seal.h"
#include "services/watch/kubernetes/node_repairs.h"
#include "services/watch/kubernetes/node_reporter.h"
#include "services/watch/kubernetes/node_rules.h"

ABSL_FLAG(
    bool, kubernetes, false,
    "Write conclusions of diagnoses to the nodes of the Kubernetes cluster that this runs in, as "
    "conditions and events, and log which nodes have no node executor (docs/kubernetes.md).");
ABSL_FLAG(std::string, kubernetes_server, "",
          "API server, https://HOST:PORT; empty: that of the pod that this runs in.");
ABSL_FLAG(std::string, kubernetes_ca, "",
          "With --kubernetes_server: PEM file of its authority; empty: those of the system.");
ABSL_FLAG(std::string, kubernetes_token, "",
          "With --kubernetes_server: file of the token, read again when it changes.");
ABSL_FLAG(absl::Duration, kubernetes_hold, absl::Hours(24),
          "Time for which a condition shows a conclusion, unless a diagnosis repeats it.");
ABSL_FLAG(std::vector<std::string>, node_actions, {},
          "With --kubernetes: actions of the knowledge's kubernetes/actions.yaml, NAME,..., that "
          "are carried out on nodes after a person's approval; the gateway's --node_actions must "
          "offer them.");

ABSL_FLAG(std::string, store_seal, "",
          "File with the key that seals decisions about actions: the gateway's --store_seal. "
          "Required with --node_actions and a Redis (docs/security.md).");
ABSL_FLAG(bool, unsealed_store, false, "Trust unsealed decisions about actions in a Redis.");

namespace galen::watch {
namespace {

absl::StatusOr<kube::Options> ClusterOptions() {
  if (absl::GetFlag(FLAGS_kubernetes_server).empty()) {
    return kube::InCluster(&kube::ProcessVariable);
  }
  kube::Options options;
  options.server = absl::GetFlag(FLAGS_kubernetes_server);
  options.ca_file = absl::GetFlag(FLAGS_kubernetes_ca);
  options.token_file = absl::GetFlag(FLAGS_kubernetes_token);
  return options;
}

class Reporter final : public Kubernetes {
 public:
  Reporter(std::unique_ptr<kube::Client> client, store::Store& store, kubernetes::NodeRules rules,
           remediation::NodeActions known, const Clock& clock,
           const kubernetes::NodeReporter::Options& options, std::optional<store::Seal> seal)
      : client_(std::move(client)),
        seal_(std::move(seal)),
        sealed_(seal_ ? store::SealRecords(store.records(), *seal_,
                                           [](const std::string& what) {
                                             Tell(absl::StrCat("record ignored: ", what));
                                           })
                      : nullptr),
        book_(sealed_ == nullptr ? store.records() : *sealed_, known),
        reporter_(*client_, store, std::move(rules), clock, options, &Tell) {
    if (known.actions.empty()) return;
    repairs_.emplace(*client_, book_, std::move(known), clock, kubernetes::NodeRepairs::Options(),
                     &Tell);
  }

 private:
  static void Tell(const std::string& news) { log::Warning(news); }

  const std::unique_ptr<kube::Client> client_;
  const std::optional<store::Seal> seal_;
  const std::unique_ptr<store::Records> sealed_;  // null: there is no seal
  remediation::ApprovalStore book_;
  kubernetes::NodeReporter reporter_;
  std::optional<kubernetes::NodeRepairs> repairs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kubernetes>> Kubernetes::Open(
    store::Store& store, const Clock& clock, const std::vector<std::string>& knowledge,
    const std::string& own) {
  if (!absl::GetFlag(FLAGS_kubernetes)) return nullptr;
  kubernetes::NodeReporter::Options options;
  options.hold = absl::GetFlag(FLAGS_kubernetes_hold);
  options.own = own;
  if (options.hold <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--kubernetes_hold: must be more than 0");
  }
  GALEN_ASSIGN_OR_RETURN(const kube::Options cluster_options, ClusterOptions());
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<kube::Client> client, kube::Client::Make(cluster_options));
  GALEN_ASSIGN_OR_RETURN(kubernetes::NodeRules rules, kubernetes::LoadNodeRules(knowledge));
  GALEN_ASSIGN_OR_RETURN(
      remediation::NodeActions known,
      remediation::LoadNodeActions(knowledge, absl::GetFlag(FLAGS_node_actions)));
  GALEN_ASSIGN_OR_RETURN(
      std::optional<store::Seal> seal,
      store::OpenSeal(absl::GetFlag(FLAGS_store_seal), store.IsShared(),
                      absl::GetFlag(FLAGS_unsealed_store) || known.actions.empty()));
  return std::make_unique<Reporter>(std::move(client), store, std::move(rules), std::move(known),
                                    clock, options, std::move(seal));
}

}  // namespace galen::watch
