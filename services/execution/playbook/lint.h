#ifndef SERVICES_EXECUTION_PLAYBOOK_LINT_H_
#define SERVICES_EXECUTION_PLAYBOOK_LINT_H_

#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "common/telemetry/rules.h"
#include "services/execution/playbook/playbook_catalogue.h"

namespace galen::playbook {

// Mistakes of playbooks relative to the rest of the knowledge, "file:line: what" each: an unknown
// check, finding, quantity or label, a finding whose type is not that of its test, a label that no
// rule connects to the finding, and a check of kind promql without a playbook.
std::vector<std::string> Lint(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules,
                              const knowledge::Knowledge& knowledge);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_LINT_H_
