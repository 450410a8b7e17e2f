#ifndef SERVICES_EXECUTION_PLAYBOOK_RESULTS_H_
#define SERVICES_EXECUTION_PLAYBOOK_RESULTS_H_

#include <string>
#include <vector>

#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"
#include "services/execution/playbook/examine.h"

namespace galen::playbook {

// What an examination says of each node, as `spec` declares it: one result a node. What belongs to
// the job stands in all of them, about no node. A node of which a step saw nothing has that finding
// as unknown. Where the numbers are incomplete, what is abnormal in them stands, and a node of
// which nothing is gets no all-clear: SKIPPED. Pure.
std::vector<galen::v1::CheckResult> ResultsOf(const knowledge::v1::Check& spec,
                                              const Examination& examination,
                                              const std::vector<std::string>& nodes);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_RESULTS_H_
