#include "services/orchestrator/load_state.h"

#include <vector>

#include "common/base/status_macros.h"

namespace galen::orchestrator {
namespace {

constexpr int kReadBatch = 1000;

}  // namespace

absl::StatusOr<State> LoadState(store::EventLog& log, absl::string_view name) {
  State state;
  for (;;) {
    GALEN_ASSIGN_OR_RETURN(const std::vector<v1::DiagnosisEvent> events,
                           log.Read(name, state.last_sequence, kReadBatch));
    for (const v1::DiagnosisEvent& event : events) Apply(state, event);
    if (events.size() < kReadBatch) return state;
  }
}

}  // namespace galen::orchestrator
