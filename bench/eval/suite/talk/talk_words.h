#ifndef BENCH_EVAL_SUITE_TALK_TALK_WORDS_H_
#define BENCH_EVAL_SUITE_TALK_TALK_WORDS_H_

#include "absl/status/statusor.h"
#include "common/phrases/phrases.h"
#include "common/phrases/vocabulary.h"

namespace galen::talk {

// The lists of suite/knowledge/talk for reading talks; each list states its purpose there. They
// match texts in lower case. A value, immutable once made; thread-safe.
struct TalkWords {
  // INVALID_ARGUMENT: the vocabulary lacks one of them.
  static absl::StatusOr<TalkWords> From(const phrases::Vocabulary& vocabulary);
  // sentences.yaml
  phrases::Phrases no_speaker;
  phrases::Phrases abbreviation;
  // addresses.yaml
  phrases::Phrases denied_before;
  phrases::Phrases other_before;
  phrases::Phrases acted_on_before;
  phrases::Phrases denied_after;
  phrases::Phrases denied_all_after;
  phrases::Phrases becomes;
  phrases::Phrases connects;
  phrases::Phrases range;
  phrases::Phrases version_before;
  phrases::Phrases correction;
  phrases::Phrases correction_first;
  phrases::Phrases adds;
  phrases::Phrases brings_back;
  phrases::Phrases planted;
  phrases::Phrases planted_speaker;
  phrases::Phrases drops_one;
  phrases::Phrases selects_one;
  // ports.yaml
  phrases::Phrases port_named;
  phrases::Phrases port_bare;
  phrases::Phrases port_usual;
  phrases::Phrases counted;
  phrases::Phrases other_port_before;
  phrases::Phrases other_port_after;
  phrases::Phrases port_denied;
  phrases::Phrases leads_on;
  phrases::Phrases for_all;
  phrases::Phrases of_all;
  phrases::Phrases ordinal_one;
  // ordinals.yaml
  phrases::Phrases first;
  phrases::Phrases second;
  phrases::Phrases third;
  phrases::Phrases fourth;
  phrases::Phrases last;
  phrases::Phrases former;
  phrases::Phrases latter;
  // go_on.yaml
  phrases::Phrases go_on;
  phrases::Phrases must_not;
  phrases::Phrases do_not;
  phrases::Phrases hold_off;
  phrases::Phrases not_yet_last;
  phrases::Phrases not_yet_first;
  phrases::Phrases stop_last;
  phrases::Phrases stop;
  phrases::Phrases open_condition;
  phrases::Phrases fault_is_still_there;
  phrases::Phrases told;
  phrases::Phrases of_other_thing;
  phrases::Phrases of_own_work;
  phrases::Phrases bare_yes;
  phrases::Phrases bare_no;
  phrases::Phrases asks_leave;
  phrases::Phrases request;
};

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_TALK_WORDS_H_
