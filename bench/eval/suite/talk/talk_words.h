#ifndef BENCH_EVAL_SUITE_TALK_TALK_WORDS_H_
#define BENCH_EVAL_SUITE_TALK_TALK_WORDS_H_

#include "absl/status/statusor.h"
#include "common/words/phrases.h"
#include "common/words/vocabulary.h"

namespace galen::talk {

// The lists of suite/knowledge/talk that the reading of talk goes by; each says there why it is
// there. Texts are given to them in lower case. A value, immutable once made; thread-safe.
struct TalkWords {
  // INVALID_ARGUMENT: the vocabulary lacks one of them.
  static absl::StatusOr<TalkWords> From(const words::Vocabulary& vocabulary);
  // sentences.yaml
  words::Phrases no_speaker;
  words::Phrases abbreviation;
  // addresses.yaml
  words::Phrases denied_before;
  words::Phrases other_before;
  words::Phrases acted_on_before;
  words::Phrases denied_after;
  words::Phrases denied_all_after;
  words::Phrases becomes;
  words::Phrases connects;
  words::Phrases range;
  words::Phrases version_before;
  words::Phrases correction;
  words::Phrases correction_first;
  words::Phrases adds;
  words::Phrases brings_back;
  words::Phrases planted;
  words::Phrases planted_speaker;
  words::Phrases drops_one;
  words::Phrases selects_one;
  // ports.yaml
  words::Phrases port_named;
  words::Phrases port_bare;
  words::Phrases port_usual;
  words::Phrases counted;
  words::Phrases other_port_before;
  words::Phrases other_port_after;
  words::Phrases port_denied;
  words::Phrases leads_on;
  words::Phrases for_all;
  words::Phrases of_all;
  words::Phrases ordinal_one;
  // ordinals.yaml
  words::Phrases first;
  words::Phrases second;
  words::Phrases third;
  words::Phrases fourth;
  words::Phrases last;
  words::Phrases former;
  words::Phrases latter;
  // go_on.yaml
  words::Phrases go_on;
  words::Phrases must_not;
  words::Phrases do_not;
  words::Phrases hold_off;
  words::Phrases not_yet_last;
  words::Phrases not_yet_first;
  words::Phrases stop_last;
  words::Phrases stop;
  words::Phrases open_condition;
  words::Phrases fault_is_still_there;
  words::Phrases told;
  words::Phrases of_other_thing;
  words::Phrases of_own_work;
  words::Phrases bare_yes;
  words::Phrases bare_no;
  words::Phrases asks_leave;
  words::Phrases request;
};

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_TALK_WORDS_H_
