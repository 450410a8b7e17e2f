#include "services/gateway/kubernetes.h"

#include <unistd.h>

#include <random>
#include <thread>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "common/base/cancellation.h"
#include "common/base/status_macros.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/observability/log/log.h"
#include "services/gateway/kubernetes/controller.h"
#include "services/gateway/kubernetes/job_context.h"
#include "services/gateway/kubernetes/lease.h"
#include "services/gateway/kubernetes/mesh.h"
#include "services/gateway/kubernetes/reconciler.h"

ABSL_FLAG(bool, kubernetes, false,
          "Serve the Diagnosis objects of the Kubernetes cluster that this runs in "
          "(docs/kubernetes.md).");
ABSL_FLAG(std::string, kubernetes_server, "",
          "API server, https://HOST:PORT; empty: that of the pod that this runs in.");
ABSL_FLAG(std::string, kubernetes_ca, "",
          "With --kubernetes_server: PEM file of its authority; empty: those of the system.");
ABSL_FLAG(std::string, kubernetes_token, "",
          "With --kubernetes_server: file of the token, read again when it changes.");
ABSL_FLAG(std::string, kubernetes_tenant, "",
          "Tenant of namespaces without label galen.io/tenant. Empty: their objects wait.");
ABSL_FLAG(bool, kubernetes_cancel, false,
          "Cancel the diagnosis of an object that is deleted while this program watches it.");

namespace galen::gateway {
namespace {

// Enough for a gateway that serves thousands of objects; the API server has limits of its own.
constexpr double kRequestsPerSecond = 20;
constexpr double kBurst = 40;

absl::StatusOr<kube::Options> ClusterOptions() {
  kube::Options options;
  if (absl::GetFlag(FLAGS_kubernetes_server).empty()) {
    GALEN_ASSIGN_OR_RETURN(options, kube::InCluster(&kube::ProcessVariable));
  } else {
    options.server = absl::GetFlag(FLAGS_kubernetes_server);
    options.ca_file = absl::GetFlag(FLAGS_kubernetes_ca);
    options.token_file = absl::GetFlag(FLAGS_kubernetes_token);
  }
  options.requests_per_second = kRequestsPerSecond;
  options.burst = kBurst;
  return options;
}

// Unique, also among processes that had the same number before.
std::string OwnerName() {
  return absl::StrCat("gateway/", getpid(), "/", std::random_device{}(), std::random_device{}());
}

void Tell(const std::string& news) { log::Warning(news); }

class Server final : public Kubernetes {
 public:
  Server(const Needs& needs, std::unique_ptr<kube::Client> client,
         std::vector<kubernetes::JobKind> jobs, const kubernetes::Reconciler::Options& options)
      : client_(std::move(client)),
        mesh_(needs.upstream, needs.rates),
        reconciler_({*client_, mesh_, needs.clock,
                     [&redactor = needs.redactor](const std::string& tenant,
                                                  galen::v1::Diagnosis& diagnosis) {
                       redactor.ForCustomer(tenant, diagnosis);
                     },
                     std::move(jobs)},
                    options),
        lease_(needs.store.records(), "diagnoses", OwnerName(), needs.clock),
        thread_([this] { Loop(); }) {}
  ~Server() override {
    stop_.Cancel();
    thread_.join();
  }

 private:
  void Loop() {
    std::unique_ptr<kubernetes::Controller> controller;
    bool failing = false;
    do {
      const absl::StatusOr<bool> holds = lease_.Hold();
      if (!holds.ok()) {
        // Two at once do no harm, unlike none at all.
        if (!std::exchange(failing, true)) {
          Tell(absl::StrCat("it is unknown which gateway serves Diagnosis objects: ",
                            holds.status().message()));
        }
        continue;
      }
      failing = false;
      if (*holds && controller == nullptr) {
        log::Info(absl::StrCat("serves Diagnosis objects of ", client_->options().server));
        controller = std::make_unique<kubernetes::Controller>(
            *client_, reconciler_, kubernetes::Controller::Options(), &Tell);
      } else if (!*holds && controller != nullptr) {
        log::Info("another gateway serves Diagnosis objects");
        controller.reset();
      }
    } while (!stop_.SleepFor(kubernetes::Lease::kTime / 6));
    if (controller != nullptr) {
      controller.reset();
      lease_.GiveUp();
    }
  }

  const std::unique_ptr<kube::Client> client_;
  kubernetes::Mesh mesh_;
  kubernetes::Reconciler reconciler_;
  kubernetes::Lease lease_;
  Cancellation stop_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Kubernetes>> Kubernetes::Open(const Needs& needs) {
  if (!absl::GetFlag(FLAGS_kubernetes)) return nullptr;
  kubernetes::Reconciler::Options options;
  options.default_tenant = absl::GetFlag(FLAGS_kubernetes_tenant);
  options.cancel_deleted = absl::GetFlag(FLAGS_kubernetes_cancel);
  if (!options.default_tenant.empty() && !IsTenant(options.default_tenant)) {
    return absl::InvalidArgumentError(absl::StrCat("--kubernetes_tenant=", options.default_tenant,
                                                   ": can be no tenant: a-z, 0-9 and \"-\""));
  }
  GALEN_ASSIGN_OR_RETURN(const kube::Options cluster, ClusterOptions());
  GALEN_ASSIGN_OR_RETURN(std::unique_ptr<kube::Client> client, kube::Client::Make(cluster));
  GALEN_ASSIGN_OR_RETURN(std::vector<kubernetes::JobKind> jobs,
                         kubernetes::LoadJobKinds(needs.knowledge));
  return std::make_unique<Server>(needs, std::move(client), std::move(jobs), options);
}

}  // namespace galen::gateway
