#ifndef SERVICES_CLI_CHECKS_DOC_H_
#define SERVICES_CLI_CHECKS_DOC_H_

#include <set>
#include <string>

#include "common/knowledge/knowledge.h"

namespace galen::cli {

// The catalogue as a Markdown page: an index by group, then each check with what it reads, needs,
// takes and finds, its limits and thresholds, and the causes that a finding of it confirms.
// `available` are the checks that this version can run.
std::string ChecksDocument(const knowledge::Knowledge& knowledge,
                           const std::set<std::string>& available);

}  // namespace galen::cli

#endif  // SERVICES_CLI_CHECKS_DOC_H_
