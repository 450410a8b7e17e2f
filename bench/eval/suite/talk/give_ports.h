#ifndef BENCH_EVAL_SUITE_TALK_GIVE_PORTS_H_
#define BENCH_EVAL_SUITE_TALK_GIVE_PORTS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/addresses.h"
#include "bench/eval/suite/talk/ports.h"
#include "bench/eval/suite/talk/talk.h"
#include "bench/eval/suite/talk/talk_words.h"
#include "bench/eval/suite/talk/weigh.h"

namespace galen::talk {

// Assigns each port of a sentence to the addresses that it belongs to: the one before it, the one
// after it if the words point there, a whole list, or all. Addresses with a port of their own keep
// it. `mentions` is in the sentence's order and not empty. Pure.
void GivePorts(absl::string_view lower, const std::vector<PortMention>& ports,
               const std::vector<Verdict>& verdicts, const TalkWords& words, const Reading& reading,
               std::vector<Mention>& mentions);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_GIVE_PORTS_H_
