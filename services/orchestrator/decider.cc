#include "services/orchestrator/decider.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/orchestrator/recheck.h"
#include "services/orchestrator/search_steps.h"
#include "services/orchestrator/strategy.h"

namespace galen::orchestrator {
namespace {

Decision Fail(const google::rpc::Status& error) {
  Decision decision;
  *decision.events.emplace_back().mutable_failed()->mutable_error() = error;
  return decision;
}

// A call that the diagnosis cannot do without.
Decision RequiredCall(const State& state, Effect::Kind kind) {
  Effect effect = MakeEffect(state, kind, "");
  if (CallFailedForGood(state, effect.id)) return Fail(state.round.calls.at(effect.id).error);
  return Call(state, std::move(effect), /*answered=*/false);
}

Decision EscalateAfterLastRound() {
  Decision decision;
  decision.events.emplace_back().mutable_escalated()->set_reason(
      absl::StrCat("no cause confirmed in ", kMaxRounds, " rounds"));
  return decision;
}

}  // namespace

Decision Decide(const State& state) {
  if (IsInactive(state)) return {};
  switch (state.lifecycle) {
    case v1::Diagnosis::AWAITING_FEEDBACK:
      return EscalateAfterLastRound();
    case v1::Diagnosis::ESCALATED:
      return RequiredCall(state, Effect::Kind::kConclude);
    case v1::Diagnosis::PENDING:
    case v1::Diagnosis::RUNNING:
      break;
    default:
      return {};
  }
  if (!state.round.summarized) return RequiredCall(state, Effect::Kind::kSummarize);

  if (Decision decision = Recheck(state); !decision.empty()) return decision;

  const Strategy* strategy = FindStrategy(state.strategy);
  if (strategy == nullptr) {
    google::rpc::Status error;
    error.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
    error.set_message(absl::StrCat("strategy \"", state.strategy, "\" is not known here, only ",
                                   absl::StrJoin(StrategyNames(), ", ")));
    return Fail(error);
  }
  if (Decision decision = strategy->Search(state); !decision.empty()) return decision;
  return RequiredCall(state, Effect::Kind::kConclude);
}

}  // namespace galen::orchestrator
