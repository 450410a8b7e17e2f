#ifndef SERVICES_ORCHESTRATOR_LOAD_STATE_H_
#define SERVICES_ORCHESTRATOR_LOAD_STATE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/store/event_log.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// The diagnosis as stored: the fold of its log. NOT_FOUND; UNAVAILABLE; DATA_LOSS.
absl::StatusOr<State> LoadState(store::EventLog& log, absl::string_view name);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_LOAD_STATE_H_
