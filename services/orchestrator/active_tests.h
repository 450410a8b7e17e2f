#ifndef SERVICES_ORCHESTRATOR_ACTIVE_TESTS_H_
#define SERVICES_ORCHESTRATOR_ACTIVE_TESTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "galen/execution/v1/execution.pb.h"
#include "galen/v1/diagnosis_event.pb.h"
#include "services/orchestrator/diagnosis_state.h"
#include "services/orchestrator/effect.h"

namespace galen::orchestrator {

// Tests load a device, so none runs without permission that is in the log of the diagnosis: an
// answer (FeedbackReceived.allowed_tests) that names a test of the report before it. A person gives
// it, or, where the site says so, its policy. A device that a process uses is never loaded: the
// node executor refuses that, whoever allowed the test.
enum class TestPolicy {
  kNever,     // no test is proposed, and none may be allowed
  kApproved,  // a person allows each
  kIdle,      // and what would run on GPUs that no process uses is allowed at once
};

// Parses "never", "approved" and "idle"; nullopt for any other word.
std::optional<TestPolicy> ParseTestPolicy(absl::string_view word);

// The tests among `ids` that wait for permission in this state.
std::vector<AllowedTest> AllowedTests(const State& state,
                                      const google::protobuf::RepeatedPtrField<std::string>& ids);

// The first of `ids` that is not a test waiting for permission; "" when all are.
std::string NotProposed(const State& state,
                        const google::protobuf::RepeatedPtrField<std::string>& ids);

// The permission that the site's policy gives, once after each answer of a person, when the
// diagnosis waits. Nothing where it gives none. Pure.
std::optional<v1::DiagnosisEvent> AllowByPolicy(const State& state, TestPolicy policy);

// Runs what the last answer allowed. Empty when it has run. Pure.
Decision RunAllowedTests(const State& state);

// The call of an effect of kind kTest; the only one that allows to load a device.
execution::v1::RunChecksRequest TestRequestOf(const State& state, const Effect& effect);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_ACTIVE_TESTS_H_
