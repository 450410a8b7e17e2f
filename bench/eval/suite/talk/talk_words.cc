#include "bench/eval/suite/talk/talk_words.h"

#include "common/base/status_macros.h"

namespace galen::talk {

absl::StatusOr<TalkWords> TalkWords::From(const phrases::Vocabulary& vocabulary) {
  TalkWords words;
  GALEN_RETURN_IF_ERROR(vocabulary.Fill({
      {"no_speaker", &words.no_speaker},
      {"abbreviation", &words.abbreviation},
      {"denied_before", &words.denied_before},
      {"other_before", &words.other_before},
      {"acted_on_before", &words.acted_on_before},
      {"denied_after", &words.denied_after},
      {"denied_all_after", &words.denied_all_after},
      {"becomes", &words.becomes},
      {"connects", &words.connects},
      {"range", &words.range},
      {"version_before", &words.version_before},
      {"correction", &words.correction},
      {"correction_first", &words.correction_first},
      {"adds", &words.adds},
      {"brings_back", &words.brings_back},
      {"planted", &words.planted},
      {"planted_speaker", &words.planted_speaker},
      {"drops_one", &words.drops_one},
      {"selects_one", &words.selects_one},
      {"port_named", &words.port_named},
      {"port_bare", &words.port_bare},
      {"port_usual", &words.port_usual},
      {"counted", &words.counted},
      {"other_port_before", &words.other_port_before},
      {"other_port_after", &words.other_port_after},
      {"port_denied", &words.port_denied},
      {"leads_on", &words.leads_on},
      {"for_all", &words.for_all},
      {"of_all", &words.of_all},
      {"ordinal_one", &words.ordinal_one},
      {"first", &words.first},
      {"second", &words.second},
      {"third", &words.third},
      {"fourth", &words.fourth},
      {"last", &words.last},
      {"former", &words.former},
      {"latter", &words.latter},
      {"go_on", &words.go_on},
      {"must_not", &words.must_not},
      {"do_not", &words.do_not},
      {"hold_off", &words.hold_off},
      {"not_yet_last", &words.not_yet_last},
      {"not_yet_first", &words.not_yet_first},
      {"stop_last", &words.stop_last},
      {"stop", &words.stop},
      {"open_condition", &words.open_condition},
      {"fault_is_still_there", &words.fault_is_still_there},
      {"told", &words.told},
      {"of_other_thing", &words.of_other_thing},
      {"of_own_work", &words.of_own_work},
      {"bare_yes", &words.bare_yes},
      {"bare_no", &words.bare_no},
      {"asks_leave", &words.asks_leave},
      {"request", &words.request},
  }));
  return words;
}

}  // namespace galen::talk
