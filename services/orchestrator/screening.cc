#include "services/orchestrator/screening.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/orchestrator/search_steps.h"

namespace galen::orchestrator {

bool IsScreenedOut(const State& state) {
  const Round& round = state.round;
  return round.screens > 0 && round.screened.hypotheses().empty() &&
         round.screened.checks().empty();
}

Decision SearchByScreening(const State& state) {
  const Round& round = state.round;
  if (IsScreenedOut(state)) return {};
  if (round.screens > 0) {
    const std::string batch = ScreenBatch(round.screens);
    std::vector<std::string> labels;
    for (const v1::ProposedHypothesis& proposed : round.screened.hypotheses()) {
      labels.push_back(proposed.hypothesis().label());
    }
    const std::vector<std::string> checks(round.screened.checks().begin(),
                                          round.screened.checks().end());
    Decision decision =
        labels.empty() ? RunChecks(state, batch, checks, {}) : TestHypotheses(state, batch, labels);
    if (!decision.empty()) return decision;
  }
  if (round.screens >= kMaxScreens) return {};
  return Call(state, MakeEffect(state, Effect::Kind::kScreen, absl::StrCat(round.screens + 1)),
              /*answered=*/false);
}

}  // namespace galen::orchestrator
