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

// Adds the recognised artefacts to the bundle at `directory` (common/host/edit.h), each on its node
// and under the command, file or log that checks read. Returns the incident: `reported` with the
// prose appended to its description, the bundle, its nodes and logs, and the outcome of each
// artefact. A line of a log keeps its line number in the text.
//
// An artefact without a machine's name belongs to the only machine that is named anywhere, else to
// kReportedMachine. A container's id does not name a machine.
//
// The errors of host::NewBundle and its kin.
absl::StatusOr<v1::Incident> AddEvidence(const std::string& directory, const Recognised& recognised,
                                         absl::Span<const Text> texts,
                                         const v1::Incident& reported);

}  // namespace galen::intake

#endif  // COMMON_INTAKE_EVIDENCE_H_
