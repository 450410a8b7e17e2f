#include "services/orchestrator/effect.h"

#include "absl/strings/str_cat.h"

namespace galen::orchestrator {
namespace {

absl::string_view NameOf(Effect::Kind kind) {
  switch (kind) {
    case Effect::Kind::kSummarize:
      return "summarize";
    case Effect::Kind::kHistory:
      return "history";
    case Effect::Kind::kAtOnce:
      return "at-once";
    case Effect::Kind::kListCauses:
      return "list-causes";
    case Effect::Kind::kChecks:
      return "checks";
    case Effect::Kind::kSupplied:
      return "told";
    case Effect::Kind::kTest:
      return "test";
    case Effect::Kind::kScreen:
      return "screen";
    case Effect::Kind::kRank:
      return "rank";
    case Effect::Kind::kJudge:
      return "judge";
    case Effect::Kind::kCritique:
      return "critique";
    case Effect::Kind::kExplore:
      return "explore";
    case Effect::Kind::kConclude:
      return "conclude";
    case Effect::Kind::kInvestigate:
      return "investigate";
    case Effect::Kind::kLook:
      return "look";
    case Effect::Kind::kConsult:
      return "consult";
  }
  return "unknown";
}

}  // namespace

std::string ScreenBatch(int step) { return absl::StrCat("screen-", step); }

std::string EffectId(Effect::Kind kind, absl::string_view what, int round) {
  return what.empty() ? absl::StrCat(NameOf(kind), "/", round)
                      : absl::StrCat(NameOf(kind), "/", what, "/", round);
}

absl::string_view AgentOf(absl::string_view effect_id) {
  const absl::string_view kind = effect_id.substr(0, effect_id.find('/'));
  if (kind == NameOf(Effect::Kind::kSummarize)) return "summarization, execution";
  if (kind == NameOf(Effect::Kind::kChecks)) return "execution";
  if (kind == NameOf(Effect::Kind::kSupplied)) return "execution";
  if (kind == NameOf(Effect::Kind::kTest)) return "execution";
  if (kind == NameOf(Effect::Kind::kJudge)) return "reflection";
  if (kind == NameOf(Effect::Kind::kCritique)) return "reflection";
  if (kind == NameOf(Effect::Kind::kInvestigate)) return "reflection";
  if (kind == NameOf(Effect::Kind::kLook)) return "summarization";
  if (kind == NameOf(Effect::Kind::kConclude)) return "conclusion";
  return "planning";
}

}  // namespace galen::orchestrator
