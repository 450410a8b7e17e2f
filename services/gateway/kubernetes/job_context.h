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
// kubernetes/jobs.yaml of the directories: entries of later ones go before those of earlier ones,
// and replace those of the same name. NOT_FOUND when no directory has one.
absl::StatusOr<std::vector<JobKind>> LoadJobKinds(const std::vector<std::string>& directories);

// What a pod tells of the job that it belongs to. All texts are cleaned and bounded.
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
// Pure; nothing when the object is no pod.
std::optional<PodContext> ContextOf(const kube::Json& pod, absl::Span<const JobKind> kinds);

// The selectors by which to look for the pods of a job of this name, one for each kind; none when
// it could be no label's value.
std::vector<std::string> SelectorsOf(absl::string_view job, absl::Span<const JobKind> kinds);

// Adds what the pods tell to an incident that does not say it: nodes (without repetition),
// launcher, image, GPUs a node, and how many ranks, where each GPU is one. What the incident says
// itself stays. Pure.
void FillIn(absl::Span<const PodContext> pods, galen::v1::Incident& incident);

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_JOB_CONTEXT_H_
