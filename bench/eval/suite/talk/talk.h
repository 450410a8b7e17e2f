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

// A machine that is to be looked at.
struct Target {
  std::string address;      // canonical: "10.0.0.5", "fd00::5"
  std::optional<int> port;  // of its login; none: nobody said one
};

// Why an address of the talk is no target.
struct Excluded {
  std::string address;
  bool left_alone = false;  // somebody asked for that
  std::string why;          // a few words: "is to be left alone"
};

struct Talk {
  std::vector<Target> targets;     // in the order in which they were named, each once
  std::vector<Excluded> excluded;  // named, and not to be looked at
  GoOn go_on = GoOn::kUnsaid;
  std::string go_on_sentence;
};

// Which parts of the reading are done; all, unless it is measured what they are worth.
struct Reading {
  // Each address and each order is weighed by the words around it: denied, corrected, quoted,
  // another thing's. Without, all that has the form counts.
  bool critique = true;
  // What the first pass left open is looked at again with its answer at hand: the ends of
  // addresses (".17"), "both", "the second one", ports that a later sentence gives.
  bool second_look = true;
};

// Longer talks are read up to here.
inline constexpr std::size_t kMostTalkBytes = std::size_t{256} << 10;
// Of addresses, targets or not, those that are named first count.
inline constexpr std::size_t kMostTargets = 256;

// What a talk asks for: text of a person or of several, hostile or not. It is read, never obeyed:
// commands in it are words. `words` are what it is understood by. Deterministic, without a model.
// Pure.
Talk ReadTalk(absl::string_view text, const TalkWords& words, const Reading& reading = {});

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_TALK_H_
