#ifndef SERVICES_GATEWAY_ACTIONS_PROPOSALS_H_
#define SERVICES_GATEWAY_ACTIONS_PROPOSALS_H_

#include <string>
#include <vector>

#include "galen/v1/action_service.pb.h"
#include "galen/v1/diagnosis.pb.h"

namespace galen::gateway::actions {

// The actions that a report proposes: for each confirmed cause that has a mitigation, that on each
// device where the cause sits; without a device, one for the cause. What is merely presumed or
// suggested proposes nothing. State PROPOSED, with content_hash, without etag. At most 200. Pure.
std::vector<galen::v1::Action> ProposedBy(const galen::v1::Diagnosis& diagnosis);

// SHA-256 over what an approval is for: name, label, text, target. Pure.
std::string ContentHash(const galen::v1::Action& action);

}  // namespace galen::gateway::actions

#endif  // SERVICES_GATEWAY_ACTIONS_PROPOSALS_H_
