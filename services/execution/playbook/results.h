#ifndef SERVICES_EXECUTION_PLAYBOOK_RESULTS_H_
#define SERVICES_EXECUTION_PLAYBOOK_RESULTS_H_

#include <string>
#include <vector>

#include "galen/knowledge/v1/knowledge.pb.h"
#include "galen/v1/evidence.pb.h"
#include "services/execution/playbook/examine.h"

namespace galen::playbook {

// The results of an examination as `spec` declares them: one per node. Findings about the job are
// in all of them, without a node. A node that a step saw nothing of has that finding as unknown. If
// the time series are incomplete, abnormal findings count, and a node without any gets no
// all-clear: SKIPPED. Pure.
std::vector<galen::v1::CheckResult> ResultsOf(const knowledge::v1::Check& spec,
                                              const Examination& examination,
                                              const std::vector<std::string>& nodes);

}  // namespace galen::playbook

#endif  // SERVICES_EXECUTION_PLAYBOOK_RESULTS_H_
