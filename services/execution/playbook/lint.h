#ifndef SERVICES_EXECUTION_PLAYBOOK_LINT_H_
#define SERVICES_EXECUTION_PLAYBOOK_LINT_H_

#include <string>
#include <vector>

#include "common/knowledge/knowledge.h"
#include "common/telemetry/rules.h"
#include "services/execution/playbook/playbook_catalogue.h"

namespace galen::playbook {

// What is wrong with playbooks beside the rest of the knowledge, "file:line: what" each: a check,
// finding, quantity or label that there is none of, a finding of another type than its test gives,
// a label that no rule connects to the finding, and a check of kind promql that no playbook
// answers.
std::vector<std::string> Lint(const PlaybookCatalogue& catalogue, const telemetry::Rules& rules,
                              const knowledge::Knowledge& knowledge);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_LINT_H_
