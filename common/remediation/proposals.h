#ifndef COMMON_REMEDIATION_PROPOSALS_H_
#define COMMON_REMEDIATION_PROPOSALS_H_

#include <string>
#include <vector>

#include "common/remediation/node_actions.h"
#include "galen/v1/action_service.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::remediation {

// The actions that a report proposes: for each confirmed cause that has a mitigation, that on each
// device where the cause sits; without a device, one for the cause. Also those `offered` actions
// that are for the cause, on each node that a check cited by the cause examined. Logs may name any
// machine, and a bundle may come from anywhere, so neither proposes an action that Galen would
// carry out. Presumed or suggested causes propose nothing. State PROPOSED, with content_hash,
// without etag. At most 200. Pure.
std::vector<galen::v1::Action> ProposedBy(const galen::v1::Diagnosis& diagnosis,
                                          const NodeActions& offered);

// SHA-256 over the approved content: name, label, text, target, run. Pure.
std::string ContentHash(const galen::v1::Action& action);

}  // namespace galen::remediation

#endif  // COMMON_REMEDIATION_PROPOSALS_H_
