#ifndef SERVICES_GATEWAY_KUBERNETES_JOB_CONTEXT_H_
#define SERVICES_GATEWAY_KUBERNETES_JOB_CONTEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/kube/answer.h"
#include "galen/v1/incident.pb.h"

namespace galen::gateway::kubernetes {

// How a launcher marks the pods of a job: an entry of knowledge/kubernetes/jobs.yaml.
struct JobKind {
  std::string name;  // "kubeflow"
  std::string job;   // the label that has the job's name
  std::vector<std::string> role;
  std::vector<std::string> index;
};

// INVALID_ARGUMENT with file and line.
absl::StatusOr<std::vector<JobKind>> ParseJobKinds(absl::string_view text, absl::string_view file);
// Reads kubernetes/jobs.yaml of the directories. Entries of later directories precede those of
// earlier ones, and replace those of the same name. NOT_FOUND: no directory has the file.
absl::StatusOr<std::vector<JobKind>> LoadJobKinds(const std::vector<std::string>& directories);

// Data of a pod about its job. All texts are cleaned and bounded.
struct PodContext {
  std::string pod;
  std::string node;      // "" while it is not placed
  std::string launcher;  // name of the JobKind, "" for none
  std::string job;
  std::string role;
  std::optional<int> index;
  std::string owner;  // its controller, "PyTorchJob/llama"
  std::string image;  // of the container with most GPUs
  int gpus = 0;       // that its containers ask for
};
// Pure; nothing if the object is not a pod.
std::optional<PodContext> ContextOf(const kube::Json& pod, absl::Span<const JobKind> kinds);

// The selectors for the pods of a job of this name, one for each kind; none if the name cannot be a
// label's value.
std::vector<std::string> SelectorsOf(absl::string_view job, absl::Span<const JobKind> kinds);

// Adds the pods' information that an incident lacks: nodes (without repetition), launcher, image,
// GPUs per node, and the number of ranks if each GPU has one. Fields that the incident has stay.
// Pure.
void FillIn(absl::Span<const PodContext> pods, galen::v1::Incident& incident);

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_JOB_CONTEXT_H_
