#ifndef SERVICES_ORCHESTRATOR_EFFECT_H_
#define SERVICES_ORCHESTRATOR_EFFECT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/v1/diagnosis_event.pb.h"

namespace galen::orchestrator {

// A call to an agent that a diagnosis wants. It stays wanted until its outcome is in the log.
struct Effect {
  enum class Kind {
    kSummarize,  // also resolves the nodes
    kHistory,
    kAtOnce,      // the likeliest causes by the texts and the history, in one question
    kListCauses,  // every root cause
    kChecks,
    kSupplied,  // every check, over what came with an answer
    kTest,      // a check that loads a device, by permission
    kScreen,    // what a few checks can tell next
    kRank,
    kJudge,
    kCritique,
    kExplore,
    kConclude,
    kInvestigate,  // one turn of a language model
    kLook,         // what it asks to read
    kConsult,      // what it asks of check results and knowledge
  };
  Kind kind;
  // "<kind>/<round>" or "<kind>/<what>/<round>": "summarize/1", "rank/GPU.MEMORY/1",
  // "judge/history/1". Unique within the diagnosis, and the same after a restart.
  std::string id;
  std::string label;                // kRank: the inner label, "" is the root
  std::vector<std::string> checks;  // kChecks: those that miss a result
  std::vector<std::string> nodes;   // kTest: those that it loads
  std::vector<std::string> labels;  // kJudge: the labels to judge; kChecks: those that it tests
  absl::Time not_before = absl::InfinitePast();  // a retry waits until then
};

// The next step of a diagnosis.
struct Decision {
  // To be appended at once; then decide again. When there are any, `effects` is empty.
  std::vector<v1::DiagnosisEvent> events;
  std::vector<Effect> effects;

  bool empty() const { return events.empty() && effects.empty(); }
};

// Names in the ids of effects for the hypotheses of history, of critique, of both together, for all
// known ones and for the confirmed ones; labels are upper case, so no branch has these names.
inline constexpr absl::string_view kOpeningBatch = "opening";
inline constexpr absl::string_view kHistoryBatch = "history";
inline constexpr absl::string_view kCritiqueBatch = "critique";
inline constexpr absl::string_view kAttributionBatch = "attribution";
inline constexpr absl::string_view kAllBatch = "all";
inline constexpr absl::string_view kConfirmedBatch = "confirmed";
inline constexpr absl::string_view kRootBatch = "root";
// Each step of the screening is a batch of its own: "screen-1", "screen-2".
std::string ScreenBatch(int step);

// The id of an effect; `what` may be empty.
std::string EffectId(Effect::Kind kind, absl::string_view what, int round);

// The service that an effect of this id is a call to, "planning"; both of them for a summary.
absl::string_view AgentOf(absl::string_view effect_id);

}  // namespace galen::orchestrator

#endif  // SERVICES_ORCHESTRATOR_EFFECT_H_
