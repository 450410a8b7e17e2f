#ifndef SERVICES_GATEWAY_KUBERNETES_RECONCILER_H_
#define SERVICES_GATEWAY_KUBERNETES_RECONCILER_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/cancellation.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/kube/client.h"
#include "galen/v1/diagnosis.pb.h"
#include "services/gateway/kubernetes/job_context.h"
#include "services/gateway/kubernetes/mesh.h"

namespace galen::gateway::kubernetes {

// The label of a namespace that names the tenant of its objects. A user who may write objects in a
// namespace may not label it, so nobody can choose a tenant.
inline constexpr char kTenantLabel[] = "galen.io/tenant";

// Makes a Diagnosis object and the diagnosis that it asks for agree, one step at a time: creates
// the diagnosis, reads it, and writes its result into the object's status. Each step starts from
// the current state, so it does not matter who made the last one, or whether it was made twice.
// Thread-safe; blocks for some seconds at most.
class Reconciler {
 public:
  struct Options {
    std::string default_tenant;   // of namespaces without a label; "": they have none
    bool cancel_deleted = false;  // an object that is deleted ends its diagnosis
    absl::Duration first_look = absl::Seconds(1);
    absl::Duration longest_look = absl::Seconds(15);
    absl::Duration mend_look = absl::Minutes(1);  // while a person has to fix something
  };
  // `redact` removes what a customer of a tenant must not see. All must outlive it.
  struct Dependencies {
    kube::Client& client;
    Mesh& mesh;
    const Clock& clock;
    std::function<void(const std::string& tenant, galen::v1::Diagnosis&)> redact;
    std::vector<JobKind> jobs;
  };
  Reconciler(Dependencies dependencies, Options options)
      : dependencies_(std::move(dependencies)), options_(std::move(options)) {}

  struct Outcome {
    bool done = false;    // nothing will change any more
    absl::Duration wait;  // else: until the next step
    // The current object, if it was written.
    std::optional<kube::Json> object;
    absl::Status problem;  // that will pass; the step is to be made again, less and less often
  };
  Outcome Step(const kube::Json& object, const Cancellation& cancellation);
  // The same for an object that is no more.
  Outcome Deleted(const kube::Json& object, const Cancellation& cancellation);

 private:
  absl::StatusOr<std::string> TenantOf(const std::string& space, const Cancellation& cancellation);
  // Gives the object this status, unless it has it.
  Outcome Write(const kube::Json& object, const kube::Json& status, Outcome outcome,
                const Cancellation& cancellation);
  Outcome Waits(const kube::Json& object, const char* reason, const absl::Status& problem,
                const Cancellation& cancellation);
  Outcome Create(const kube::Json& object, const std::string& tenant,
                 const Cancellation& cancellation);
  Outcome Report(const kube::Json& object, const std::string& tenant,
                 galen::v1::Diagnosis diagnosis, const Cancellation& cancellation);
  absl::StatusOr<std::vector<PodContext>> PodsOf(const std::string& space, const std::string& job,
                                                 const Cancellation& cancellation);

  const Dependencies dependencies_;
  const Options options_;
  Mutex mu_;
  struct Known {
    std::string tenant;
    absl::Time until;
  };
  std::map<std::string, Known> tenants_ ABSL_GUARDED_BY(mu_);  // by namespace
};

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_RECONCILER_H_
