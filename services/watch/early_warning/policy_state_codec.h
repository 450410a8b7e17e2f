#ifndef SERVICES_WATCH_EARLY_WARNING_POLICY_STATE_CODEC_H_
#define SERVICES_WATCH_EARLY_WARNING_POLICY_STATE_CODEC_H_

#include "galen/watch/v1/early.pb.h"
#include "services/watch/early_warning/detection/policy.h"

namespace galen::watch::early_warning {

// Converts the policy's state to its stored form and back. Stored state may be damaged: impossible
// numbers are clamped.
v1::EarlyState ToStored(const watch::detection::PolicyState& state);
watch::detection::PolicyState FromStored(const v1::EarlyState& stored);

}  // namespace galen::watch::early_warning

#endif  // SERVICES_WATCH_EARLY_WARNING_POLICY_STATE_CODEC_H_
