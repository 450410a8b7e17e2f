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

// Objects of kind Diagnosis (helm/galen/templates/crds.yaml) and what they stand for. All pure.
namespace galen::gateway::kubernetes {

const kube::Resource& Diagnoses();

// The last part of a diagnosis's name, and its request id, of an object: the same whoever asks, how
// often and from which gateway, so that it is made once. An object that is deleted and made anew
// has another uid, and gets another diagnosis.
std::string DiagnosisIdOf(const kube::Json& object);

// What the object asks for. INVALID_ARGUMENT with the field that is wrong. Whoever may write
// objects is a customer: no file of a server is read for it.
absl::StatusOr<galen::v1::CreateDiagnosisRequest> RequestOf(const kube::Json& object,
                                                            const std::string& tenant);

// "team-a/slow", for messages.
std::string NameOf(const kube::Json& object);
// The diagnosis that its status names, "" when none does yet.
std::string DiagnosisOf(const kube::Json& object);
// Whether its status says that nothing of it will change any more.
bool IsOver(const kube::Json& object);

// The status that an object is to have. Times of conditions stay where nothing changed, so the same
// knowledge makes the same status.
//   a diagnosis there is, as its customer may see it:
kube::Json StatusOf(const kube::Json& object, const galen::v1::Diagnosis& diagnosis,
                    absl::Time now);
//   it will never be one, as it stands:
kube::Json StatusRefused(const kube::Json& object, absl::string_view reason,
                         absl::string_view message, absl::Time now);
//   not yet, for a reason that will pass or that somebody can mend elsewhere:
kube::Json StatusWaiting(const kube::Json& object, absl::string_view reason,
                         absl::string_view message, absl::Time now);

// The merge patch that gives the object this status; nothing when it has it. It is refused
// (ABORTED) when the object is no longer as it was seen.
std::optional<kube::Json> PatchTo(const kube::Json& object, const kube::Json& status);

}  // namespace galen::gateway::kubernetes

#endif  // SERVICES_GATEWAY_KUBERNETES_DIAGNOSIS_OBJECT_H_
