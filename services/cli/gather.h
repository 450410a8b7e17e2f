#ifndef SERVICES_CLI_GATHER_H_
#define SERVICES_CLI_GATHER_H_

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/host/archive.h"
#include "common/host/bundle.h"
#include "common/intake/kinds.h"
#include "common/intake/recognise.h"
#include "galen/v1/incident.pb.h"
#include "services/cli/diagnose.h"

namespace galen::cli {

// Reads the inputs of `galen diagnose`: sentences, pasted text, files, folders, standard input.
// Files of a folder come in the order of their names; hidden ones are left out. A word that is not
// a file or folder is text.
//
// NOT_FOUND, PERMISSION_DENIED a file; INVALID_ARGUMENT something that is not a file or a folder,
// or standard input named twice; RESOURCE_EXHAUSTED more than 1,000 files, or more
// than 256 MiB on standard input.
absl::StatusOr<std::vector<intake::Text>> GatherTexts(const DiagnoseArguments& arguments,
                                                      std::istream& standard_input);

// The name of this machine; "" where it has none.
std::string OwnHostName();

// Default store of `galen up`.
std::string DefaultStore();

// Address at which `galen up` listens unless another one is given: a Unix socket in the runtime
// folder of this user, or else beside the default store.
std::string DefaultSocket();

// Folder in which `galen up` keeps pasted evidence: beside its store.
std::string EvidenceBeside(const std::string& store);

// An incident, and the place of its evidence.
struct Gathered {
  v1::Incident incident;
  // Holds the bundle that was made of what was pasted; kept until the diagnosis is done.
  std::optional<host::TemporaryDirectory> directory;
  // Files that are logs of a job on this machine.
  std::vector<std::string> job_logs;
};

// Makes the incident of a call in this process. Output of programs becomes evidence of the machines
// that it names (intake::AddEvidence), on top of a copy of the bundle, if there is one. This
// machine itself is examined only if there is a sentence and nothing else, if the logs name this
// host, or with --here.
absl::StatusOr<Gathered> GatherIncident(const DiagnoseArguments& arguments,
                                        const std::vector<intake::Text>& texts,
                                        const host::Bundle* bundle, const intake::Kinds& kinds,
                                        const std::string& own_name);

// The incident of a call to a server, which takes texts of 2 MiB at most.
absl::StatusOr<v1::Incident> IncidentForServer(const DiagnoseArguments& arguments,
                                               const std::vector<intake::Text>& texts,
                                               const host::Bundle* bundle);

}  // namespace galen::cli

#endif  // SERVICES_CLI_GATHER_H_
