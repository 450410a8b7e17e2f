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
  }
  return "unknown";
}

}  // namespace

std::string ScreenBatch(int step) { return absl::StrCat("screen-", step); }

std::string EffectId(Effect::Kind kind, absl::string_view what, int round) {
  return what.empty() ? absl::StrCat(NameOf(kind), "/", round)
                      : absl::StrCat(NameOf(kind), "/", what, "/", round);
}

}  // namespace galen::orchestrator
