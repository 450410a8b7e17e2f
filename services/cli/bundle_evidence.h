#ifndef SERVICES_CLI_BUNDLE_EVIDENCE_H_
#define SERVICES_CLI_BUNDLE_EVIDENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/intake/kinds.h"
#include "common/knowledge/knowledge.h"
#include "services/cli/bundle_commands.h"

namespace galen::cli {

// Puts what a person adds to a bundle, once it is there as it was given, also into the form that
// checks read, where that is another one (`dmesg -T`, the table of nvidia-smi, a kernel log that
// came as a log). Gives a sentence for the person: what it is, and whether a check reads it.
//
// The errors of intake::AddEvidence.
absl::StatusOr<std::string> AddAsChecksRead(const AddArguments& arguments,
                                            absl::string_view content, const intake::Kinds& kinds,
                                            const knowledge::Knowledge& knowledge);

}  // namespace galen::cli

#endif  // SERVICES_CLI_BUNDLE_EVIDENCE_H_
