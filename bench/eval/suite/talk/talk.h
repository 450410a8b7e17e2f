#ifndef BENCH_EVAL_SUITE_TALK_TALK_H_
#define BENCH_EVAL_SUITE_TALK_TALK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/go_on.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// A machine to examine.
struct Target {
  std::string address;      // canonical: "10.0.0.5", "fd00::5"
  std::optional<int> port;  // of its login; none: not mentioned
};

// The reason why an address of the talk is not a target.
struct Excluded {
  std::string address;
  bool left_alone = false;  // somebody asked for it
  std::string why;          // a few words: "is to be left alone"
};

struct Talk {
  std::vector<Target> targets;     // in the order in which they were named, each once
  std::vector<Excluded> excluded;  // named, and not to be examined
  GoOn go_on = GoOn::kUnsaid;
  std::string go_on_sentence;
};

// The parts of the reading that are enabled; all of them, except to measure their effect.
struct Reading {
  // Each address and each order is weighed by the words around it: denied, corrected, quoted,
  // another thing's. Without, all that has the form counts.
  bool critique = true;
  // A second pass resolves references that the first one left open, with its answer at hand: the
  // ends of addresses (".17"), "both", "the second one", ports in a later sentence.
  bool second_look = true;
};

// Longer talks are read up to here.
inline constexpr std::size_t kMostTalkBytes = std::size_t{256} << 10;
// Limit for addresses, targets or not; the first ones in the talk are kept.
inline constexpr std::size_t kMostTargets = 256;

// Reads the requests in a talk: text of one or several persons, hostile or not. Commands in it are
// words and are never obeyed. `words` are the lists that interpret it. Deterministic, without a
// model. Pure.
Talk ReadTalk(absl::string_view text, const TalkWords& words, const Reading& reading = {});

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_TALK_H_
