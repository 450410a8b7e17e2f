#include "bench/eval/suite/talk/go_on.h"

#include <utility>

#include "absl/strings/string_view.h"

namespace galen::talk {
namespace {

bool AsksNotTo(absl::string_view lower, const TalkWords& words) {
  return words.must_not.In(lower) || words.do_not.In(lower) || words.hold_off.In(lower) ||
         words.not_yet_first.In(lower) || words.not_yet_last.In(lower) ||
         words.stop_last.In(lower) || words.stop.In(lower);
}

// It waits for somebody's action.
bool IsOpenCondition(absl::string_view lower, const TalkWords& words) {
  return words.open_condition.In(lower) && !words.fault_is_still_there.In(lower);
}

// An order about something else alone. "Stop the job, then go ahead with the checks" holds both.
bool IsOfOtherThing(absl::string_view lower, const TalkWords& words) {
  return words.of_other_thing.In(lower) && !words.of_own_work.In(lower);
}

GoOn BareAnswerOf(absl::string_view lower, const TalkWords& words) {
  if (words.bare_yes.In(lower)) return GoOn::kYes;
  if (words.bare_no.In(lower)) return GoOn::kNo;
  return GoOn::kUnsaid;
}

// True if an order, of one kind or of both, says nothing about the work: a question, words of
// others, or an order about something else.
bool SaysNothing(const Sentence& sentence, bool both, const TalkWords& words) {
  if (sentence.question && !words.request.In(sentence.lower)) return true;
  if (words.told.In(sentence.lower)) return true;
  return !both && IsOfOtherThing(sentence.lower, words);
}

// "Wait, no, go ahead": what comes last counts.
bool EndsWithYes(absl::string_view lower, const TalkWords& words) {
  const std::size_t but = lower.find_last_of(',');
  if (but == absl::string_view::npos || IsOpenCondition(lower, words)) return false;
  const absl::string_view last = lower.substr(but);
  return words.go_on.In(last) && !AsksNotTo(last, words);
}

}  // namespace

GoOnSaid WhetherToGoOn(absl::Span<const Sentence> sentences, const TalkWords& words, bool weigh) {
  GoOnSaid said;
  bool asked = false;
  for (const Sentence& sentence : sentences) {
    const bool yes = words.go_on.In(sentence.lower);
    const bool no = AsksNotTo(sentence.lower, words);
    if (!weigh) {
      if (yes || no) said = {no ? GoOn::kNo : GoOn::kYes, sentence.text};
      continue;
    }
    if (sentence.quoted) continue;
    const bool was_asked = std::exchange(
        asked, sentence.question && (yes || no) && words.asks_leave.In(sentence.lower));
    if (const GoOn bare = BareAnswerOf(sentence.lower, words); bare != GoOn::kUnsaid) {
      if (was_asked) said = {bare, sentence.text};
      continue;
    }
    if ((!yes && !no) || SaysNothing(sentence, yes && no, words)) continue;
    said = {no || IsOpenCondition(sentence.lower, words) ? GoOn::kNo : GoOn::kYes, sentence.text};
    if (yes && no && EndsWithYes(sentence.lower, words)) said.go_on = GoOn::kYes;
  }
  return said;
}

}  // namespace galen::talk
