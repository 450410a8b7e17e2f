#include "bench/eval/suite/talk/look_back.h"

#include "absl/strings/match.h"
#include "bench/eval/suite/talk/text.h"

namespace galen::talk {
namespace {

// Whether the sentence excludes one of several, or all but one.
bool Choose(absl::string_view lower, const TalkWords& words, Gathered& found) {
  Found* const meant = found.Meant(lower, words);
  if (meant == nullptr) return false;
  if (words.selects_one.In(lower)) {
    for (Found& each : found.all()) {
      if (&each != meant && each.verdict.in) each.verdict = {false, "another one is meant"};
    }
    return true;
  }
  if (!words.drops_one.In(lower)) return false;
  meant->verdict = {false, kLeftAlone};
  return true;
}

// "The first on 2201, the second on 2202"; "2201 on the first"; "2222 for both"; otherwise the last
// one. `said` is the text before the port that does not belong to another port.
void GivePort(absl::string_view lower, absl::string_view said, const PortMention& port,
              const TalkWords& words, Gathered& found) {
  Found* owner = found.Meant(said, words);
  if (owner == nullptr) owner = found.Meant(After(lower, port.end), words);
  if (owner == nullptr && words.of_all.In(lower)) {
    const bool correction = IsCorrection(lower, words);
    for (Found& each : found.all()) {
      if (each.verdict.in && (correction || !each.target.port.has_value())) {
        each.target.port = port.port;
      }
    }
    return;
  }
  if (owner == nullptr) owner = found.LastIn();
  if (owner != nullptr) owner->target.port = port.port;
}

}  // namespace

bool IsCorrection(absl::string_view lower, const TalkWords& words) {
  // "*10.0.0.40", as people correct themselves in chats.
  return absl::StartsWith(lower, "*") || words.correction.In(lower) ||
         words.correction_first.In(lower);
}

void LookBack(absl::string_view lower, const std::vector<PortMention>& ports,
              const TalkWords& words, const Reading& reading, Gathered& found) {
  if (found.all().empty() || (reading.critique && Choose(lower, words, found))) return;
  std::size_t said_from = 0;
  for (const PortMention& port : ports) {
    if (reading.critique && IsOtherPort(lower, port, words)) continue;
    GivePort(lower, lower.substr(said_from, port.end - said_from), port, words, found);
    said_from = port.end;
  }
}

}  // namespace galen::talk
