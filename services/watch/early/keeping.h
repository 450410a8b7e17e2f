#ifndef SERVICES_WATCH_EARLY_KEEPING_H_
#define SERVICES_WATCH_EARLY_KEEPING_H_

#include "common/warning/policy.h"
#include "galen/watch/v1/early.pb.h"

namespace galen::watch::early {

// Converts the policy's state to its stored form and back. Stored state may be damaged: impossible
// numbers are clamped.
v1::EarlyState ToStored(const warning::PolicyState& state);
warning::PolicyState FromStored(const v1::EarlyState& stored);

}  // namespace galen::watch::early

#endif  // SERVICES_WATCH_EARLY_KEEPING_H_
