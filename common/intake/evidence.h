#ifndef COMMON_INTAKE_EVIDENCE_H_
#define COMMON_INTAKE_EVIDENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/host/node_name.h"
#include "common/intake/recognise.h"
#include "galen/v1/incident.pb.h"

namespace galen::intake {

using host::kReportedMachine;

// Puts what was recognised into the bundle at `directory` (common/host/edit.h), each artefact under
// the command, file or log that checks read and on the node that it is of, and gives the incident:
// `reported` with the prose for a description (behind its own), the bundle, its nodes and logs, and
// what became of each artefact. A line of a log keeps the number that it has in its text.
//
// An artefact of no named machine belongs to the only one that is named anywhere, else to
// kReportedMachine. A container's id names no machine.
//
// The errors of host::NewBundle and its kin.
absl::StatusOr<v1::Incident> AddEvidence(const std::string& directory, const Recognised& recognised,
                                         absl::Span<const Text> texts,
                                         const v1::Incident& reported);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_EVIDENCE_H_
