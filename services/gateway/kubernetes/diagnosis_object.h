#ifndef SERVICES_GATEWAY_KUBERNETES_DIAGNOSIS_OBJECT_H_
#define SERVICES_GATEWAY_KUBERNETES_DIAGNOSIS_OBJECT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/kube/answer.h"
#include "common/kube/resource.h"
#include "galen/v1/diagnosis_service.pb.h"

// Objects of kind Diagnosis (helm/galen/templates/crds.yaml) and their meaning. All pure.
namespace galen::gateway::kubernetes {

const kube::Resource& Diagnoses();

// The request id of an object, and the last part of its diagnosis's name. They depend on the object
// alone, not on the gateway or the number of requests, so that the diagnosis is made once. An
// object that is deleted and created again has another uid, and gets another diagnosis.
std::string DiagnosisIdOf(const kube::Json& object);

// The request that an object makes. INVALID_ARGUMENT with the field that is wrong. A user who may
// write objects counts as a customer: no file of a server is read for the object.
absl::StatusOr<galen::v1::CreateDiagnosisRequest> RequestOf(const kube::Json& object,
                                                            const std::string& tenant);

// "team-a/slow", for messages.
std::string NameOf(const kube::Json& object);
// The diagnosis in its status, "" if there is none yet.
std::string DiagnosisOf(const kube::Json& object);
// Whether the status is final.
bool IsOver(const kube::Json& object);

// The status that an object is to have. Times of conditions stay where nothing changed, so the same
// knowledge makes the same status.
//   a diagnosis there is, as its customer may see it:
kube::Json StatusOf(const kube::Json& object, const galen::v1::Diagnosis& diagnosis,
                    absl::Time now);
//   it will never become one in this form:
kube::Json StatusRefused(const kube::Json& object, absl::string_view reason,
                         absl::string_view message, absl::Time now);
//   not yet, for a reason that will pass or that somebody can fix elsewhere:
kube::Json StatusWaiting(const kube::Json& object, absl::string_view reason,
                         absl::string_view message, absl::Time now);

// The merge patch that gives the object this status; nothing if it has it. The patch is refused
// (ABORTED) if the object has changed since it was read.
std::optional<kube::Json> PatchTo(const kube::Json& object, const kube::Json& status);

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_DIAGNOSIS_OBJECT_H_
