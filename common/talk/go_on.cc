#include "common/talk/go_on.h"

#include <re2/re2.h>

namespace galen::talk {
namespace {

RE2::Options GoOnBytes() { return RE2::Options(RE2::Latin1); }

bool Holds(const std::string& lower, const RE2* pattern) {
  return RE2::PartialMatch(lower, *pattern);
}

// Words that ask to go on.
const RE2* Yes() {
  static const RE2* const kYes = new RE2(
      R"(\bgo(?:es)? (?:right )?ahead\b|\bproceed\b|\bcarry on\b|\bcontinue\b|\bgo on\b|\bgreen light\b|\bgo for it\b)"
      R"(|\bresume\b|\bcleared to (?:run|start|go)\b|\b(?:you|we) (?:may|can) (?:now )?(?:start|begin|run|go|have a look|look)\b)"
      R"(|\b(?:start|run|kick off|begin|launch|repeat|rerun|re-run) (?:the |a |your |all |those |these |another )?(?:full |usual |whole |same )?(?:checks?|diagnos\w+|diagnostics?|tests?|investigation|examination|sweep|it|now|whenever)\b)"
      R"(|\b(?:please |pls )?(?:have a look|take a look|check (?:it|them|both|all|that|these|those|this|out|the)|look (?:at|into)|diagnose|investigate|examine|inspect)\b)"
      R"(|\bwe(?:'re| are) good to go\b|\ball yours\b|\bfire away\b|\bship it\b|\bunpause\b|\bknock yourself out\b)",
      GoOnBytes());
  return kYes;
}

// Words that ask not to.
const RE2* No() {
  static const RE2* const kNo = new RE2(
      // At the beginning of a clause: "containers do not start" is a fault, and no wish.
      R"((?:(?:^\W*|[,;:(-] ?|\b(?:please|pls|but|so|and|then|just|also|because|still|ok|sorry|you|we|off) )(?:don't|do not|dont|never)|\b(?:please not|you (?:must not|mustn't|shouldn't|should not|can't|cannot|may not)|not (?:allowed|ok|okay|cleared) to|no need to|nobody needs to)) (?:\w+ ){0,2}?(?:go (?:on|ahead)|proceed|continue|start|run|begin|touch (?:anything|it|them|any|that)|check|diagnose|investigate|look|do anything|carry on|resume|bother)\b)"
      R"(|(?:^\W*|[,;:] ?|\b(?:please|pls|no|but|so|and|to|let's|ok|must|should) )(?:hold (?:off|on|it|your horses|fire|back)|stand (?:down|by)|wait|hang on|abort)\b|\b(?:put|is|are|keep) (?:\w+ )?on hold\b|\bnot yet(?: please)?\W*$|^\W*not yet\b|\bcall (?:it|this|that) off\b|\bcalled off\b)"
      R"(|\bcancel (?:it|that|this|the (?:diagnosis|check|checks|request|run|investigation|sweep))\b|\bnever ?mind\b|\bforget (?:it|about it|the whole thing)\b|\bscrap that\b|\bno (?:further )?(?:need|action|checks?|diagnosis|investigation)(?: (?:needed|required|necessary|any ?more))?\b)"
      R"(|\b(?:stop|pause|halt|freeze)(?: (?:here|it|now|there|right there|everything|the (?:diagnosis|checks?|tests?|investigation|sweep)|for now|please))?[.!,]?$|\b(?:stop|pause|halt) (?:the (?:diagnosis|checks?|tests?|investigation|sweep)|everything|right there|here|now|for now)\b)"
      R"(|\b(?:it(?:'s| is| was)|that(?:'s| is| was)|we|problem|issue|is|got|has been|already) (?:now |all |been |just |since |already )*(?:fixed|resolved|solved|sorted|closed|fixed itself)\b|\bfalse alarm\b|\bleave (?:it|them|everything) (?:alone|be|as (?:it|they) (?:is|are))\b|\bhands off\b|\bkeep (?:your )?hands off\b|\bpostpone\b|\bask (?:me|us) first\b)",
      GoOnBytes());
  return kNo;
}

// It waits for something.
bool IsOpenCondition(const std::string& lower) {
  static const RE2* const kOpen = new RE2(
      R"(\b(?:once|as soon as|not (?:before|until)|only (?:after|when|if|once)|after (?:the|my|our|his|her|lunch|maintenance)|until|when (?:the|he|she|they|i|we) (?:\w+ ){0,3}(?:is|are|says?|confirms?|has|have|come|comes|give|gives)|unless|provided|if (?:and only if|he|she|the|they|facilities|security|legal|my|our)|pending)\b)",
      GoOnBytes());
  // That the fault is still there is no condition that somebody has to fulfil.
  static const RE2* const kStill = new RE2(
      R"(\bif (?:it|they|that|this|the (?:error|problem|fault|hang|job)) (?:still|again|keeps?|comes? back|persists?|happens? again)\b)",
      GoOnBytes());
  return Holds(lower, kOpen) && !Holds(lower, kStill);
}

// What others said, did or should do, or what was planned once.
bool IsTold(const std::string& lower) {
  static const RE2* const kTold = new RE2(
      R"(\b(?:he|she|they|bot|runbook|script|manual|doc|docs|page|alert|playbook|colleague|vendor|support|somebody|someone|guide|readme|wiki|log|banner|motd|message|output|cron) (?:\w+ ){0,2}?(?:said|says|told|tells|wrote|writes|wanted|suggested|asks|asked|recommends|prints|printed|claims|reads)\b)"
      R"(|\b(?:yesterday|earlier|last (?:week|night|time|month)|at first|previously|originally) (?:\w+ ){0,3}?(?:told|said|asked|wanted|we)\b|\b(?:was|were) (?:told|asked|supposed|going) to\b|\bused to\b)",
      GoOnBytes());
  return Holds(lower, kTold);
}

// An order about something else than the work that is asked for.
bool IsOfOtherThing(const std::string& lower) {
  static const RE2* const kOther = new RE2(
      R"(\b(?:stop|kill|pause|halt|cancel|abort|resume|restart|continue|start|run|freeze|wait for|proceed with|go on with|carry on with|go ahead with|launch|begin) (?:the |my |your |our |his |that |this |a |all |any )*(?:[\w-]+ ){0,2}?(?:jobs?|training|container|pods?|service|daemon|upgrade|update|deploy\w*|rollout|meeting|call|demo|backup|migration|experiment|benchmark|inference|reboot|firmware|lunch|standup|release|order|build|pipeline|download|vllm|notebook|kubelet)\b)",
      GoOnBytes());
  return Holds(lower, kOther);
}

enum class BareAnswer { kNone, kYes, kNo };

BareAnswer BareAnswerOf(const std::string& lower) {
  static const RE2* const kBareYes = new RE2(
      R"(^(?:\W*)(?:yes|yep|yeah|yup|sure|ok(?:ay)?|please do|do it|affirmative|of course|absolutely|aye|👍|:\+1:|\+1)\b[^a-z]*(?:please|go|thanks|thank you|do|do it)?\W*$|^\W*(?:👍|:\+1:|\+1)\W*$)",
      GoOnBytes());
  static const RE2* const kBareNo = new RE2(
      R"(^\W*(?:no|nope|nah|negative|rather not|better not|please don't|don't|i'd rather you didn't)\b[^a-z]*(?:please|thanks|thank you|not now|not today|sorry)?\W*$)",
      GoOnBytes());
  if (Holds(lower, kBareYes)) return BareAnswer::kYes;
  if (Holds(lower, kBareNo)) return BareAnswer::kNo;
  return BareAnswer::kNone;
}

// Whether somebody asks if the work may go on.
bool AsksToGoOn(const Sentence& sentence) {
  static const RE2* const kMayI =
      new RE2(R"(\b(?:shall|should|may|can|could|do|want|ready|ok|okay|would)\b)", GoOnBytes());
  return sentence.question && Holds(sentence.lower, kMayI) &&
         (Holds(sentence.lower, Yes()) || Holds(sentence.lower, No()));
}

// "Can you have a look?" asks for it as well as an order does; "should we go ahead?" does not.
bool IsRequest(const std::string& lower) {
  static const RE2* const kRequest = new RE2(
      R"(\b(?:can|could|would|will) (?:you|galen|somebody|someone|anyone)\b|\bplease\b|\bmind (?:having|taking|checking|looking)\b)",
      GoOnBytes());
  return Holds(lower, kRequest);
}

}  // namespace

GoOnSaid WhetherToGoOn(absl::Span<const Sentence> sentences, bool weigh) {
  GoOnSaid said;
  bool asked = false;
  for (const Sentence& sentence : sentences) {
    const bool yes = Holds(sentence.lower, Yes());
    const bool no = Holds(sentence.lower, No());
    if (!weigh) {
      if (yes || no) said = {no ? GoOn::kNo : GoOn::kYes, sentence.text};
      continue;
    }
    if (sentence.quoted) continue;
    const bool was_asked = std::exchange(asked, AsksToGoOn(sentence));
    if (const BareAnswer bare = BareAnswerOf(sentence.lower); bare != BareAnswer::kNone) {
      if (was_asked) said = {bare == BareAnswer::kYes ? GoOn::kYes : GoOn::kNo, sentence.text};
      continue;
    }
    if (!yes && !no) continue;
    if (sentence.question && !IsRequest(sentence.lower)) continue;
    if (IsTold(sentence.lower)) continue;
    if (IsOfOtherThing(sentence.lower) && !(no && yes)) {
      // "Stop the job, then go ahead with the checks" holds both.
      static const RE2* const kOwn = new RE2(
          R"(\b(?:checks?|diagnos\w+|have a look|take a look|investigat\w+|look (?:at|into)|go ahead|proceed|hold off|not yet|touch)\b)",
          GoOnBytes());
      if (!Holds(sentence.lower, kOwn)) continue;
    }
    said.go_on = no || IsOpenCondition(sentence.lower) ? GoOn::kNo : GoOn::kYes;
    // "Wait, no, go ahead": what comes last counts.
    if (no && yes) {
      std::string lower = sentence.lower;
      const std::size_t but = lower.find_last_of(',');
      if (but != std::string::npos) {
        const std::string last = lower.substr(but);
        if (Holds(last, Yes()) && !Holds(last, No()) && !IsOpenCondition(lower))
          said.go_on = GoOn::kYes;
      }
    }
    said.sentence = sentence.text;
  }
  return said;
}

}  // namespace galen::talk
