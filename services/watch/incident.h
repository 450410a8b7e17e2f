#ifndef SERVICES_WATCH_INCIDENT_H_
#define SERVICES_WATCH_INCIDENT_H_

#include <string>

#include "absl/status/status.h"
#include "common/knowledge/knowledge.h"
#include "galen/v1/diagnosis_service.pb.h"
#include "galen/watch/v1/watch.pb.h"
#include "services/watch/correlator.h"

namespace galen::watch {

// INVALID_ARGUMENT if a request violates watch.proto, with the field.
absl::Status CheckEvents(const v1::ReportHealthRequest& request);

// The kind of event, in the field's words: "system.kernel_log xid 79", "gpu.inventory lost_gpus".
// Events of one kind are grouped.
std::string KindOf(const v1::HealthEvent& event);

// Whether the machine or one of its devices has stopped working: as the reporter says, else whether
// the catalogue lists the code as critical.
bool IsGrave(const v1::HealthEvent& event, const knowledge::Knowledge& knowledge);

// The incident of an outbreak, for `parent` ("tenants/t"): names every machine, and has the events
// as a log. Its request id depends only on the outbreak.
galen::v1::CreateDiagnosisRequest IncidentOf(const Outbreak& outbreak,
                                             const knowledge::Knowledge& knowledge,
                                             const std::string& parent);

}  // namespace galen::watch

#endif  // SERVICES_WATCH_INCIDENT_H_
