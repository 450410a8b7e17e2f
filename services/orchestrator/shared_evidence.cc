#include "services/orchestrator/shared_evidence.h"

#include <string>

namespace galen::orchestrator {

// The message only borrows these parts: the destructor releases them before the message could
// delete them, and nobody writes through the const_casts.
SharedEvidence::SharedEvidence(const State& state) : summary_(state.summary) {
  evidence_.unsafe_arena_set_allocated_summary(const_cast<v1::Summary*>(summary_.get()));
  results_.reserve(state.evidence.size());
  evidence_.mutable_results()->Reserve(static_cast<int>(state.evidence.size()));
  for (const auto& [id, result] : state.evidence) {
    results_.push_back(result);
    evidence_.mutable_results()->UnsafeArenaAddAllocated(
        const_cast<v1::CheckResult*>(result.get()));
  }
  for (const std::string& text : state.feedback) evidence_.add_feedback(text);
}

SharedEvidence::~SharedEvidence() {
  static_cast<void>(evidence_.unsafe_arena_release_summary());
  evidence_.mutable_results()->UnsafeArenaExtractSubrange(0, evidence_.results_size(), nullptr);
}

}  // namespace galen::orchestrator
