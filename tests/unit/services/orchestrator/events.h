#ifndef TESTS_UNIT_SERVICES_ORCHESTRATOR_EVENTS_H_
#define TESTS_UNIT_SERVICES_ORCHESTRATOR_EVENTS_H_

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "galen/v1/diagnosis_event.pb.h"
#include "services/orchestrator/decider.h"
#include "services/orchestrator/diagnosis_state.h"

namespace galen::orchestrator {

// An event in the text form of its message.
inline v1::DiagnosisEvent Event(const std::string& text) {
  v1::DiagnosisEvent event;
  if (!google::protobuf::TextFormat::ParseFromString(text, &event)) {
    ADD_FAILURE() << "not an event: " << text;
  }
  return event;
}

inline void ApplyNext(State& state, v1::DiagnosisEvent event) {
  event.set_sequence(state.last_sequence + 1);
  event.mutable_event_time()->set_seconds(1'000 + event.sequence());
  Apply(state, event);
}

// A result of `check` on node n1.
inline v1::DiagnosisEvent Passed(const std::string& check, const std::string& node = "n1") {
  return Event(absl::StrCat("check_completed { result { id: '", check, "@", node, "' check: '",
                            check, "' node: '", node, "' status: PASS } }"));
}

// The wanted calls and events, one line each: "judge/history/1 X,Y", "checks/X/1 a,b", "+
// branch_left { ... }".
inline std::vector<std::string> Wants(const State& state) {
  std::vector<std::string> lines;
  const Decision decision = Decide(state);
  for (const v1::DiagnosisEvent& event : decision.events) {
    lines.push_back(absl::StrCat("+ ", event.ShortDebugString()));
  }
  for (const Effect& effect : decision.effects) {
    const std::string detail =
        absl::StrJoin(effect.kind == Effect::Kind::kChecks ? effect.checks : effect.labels, ",");
    lines.push_back(detail.empty() ? effect.id : absl::StrCat(effect.id, " ", detail));
  }
  return lines;
}

// One step of a search: the event, and the wanted calls after it.
struct Step {
  std::string event;
  std::vector<std::string> wants;
};

inline void Follow(State state, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    SCOPED_TRACE(step.event);
    ApplyNext(state, Event(step.event));
    ASSERT_EQ(Wants(state), step.wants);
  }
}

// A diagnosis that runs on node n1 and wants its first step.
inline State Summarized(const std::string& strategy = "tiered") {
  State state;
  ApplyNext(state, Event(absl::StrCat("created { name: 'tenants/t/diagnoses/d' strategy: '",
                                      strategy, "' }")));
  ApplyNext(state, Event("summarized { summary { text: 's' } nodes: 'n1' }"));
  return state;
}

}  // namespace galen::orchestrator

#endif  // TESTS_UNIT_SERVICES_ORCHESTRATOR_EVENTS_H_
