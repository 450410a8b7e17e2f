#ifndef BENCH_EVAL_SUITE_TALK_PORTS_H_
#define BENCH_EVAL_SUITE_TALK_PORTS_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// A port that is said apart from its address.
struct PortMention {
  std::size_t begin = 0;   // where the words begin that say so
  std::size_t number = 0;  // where the number begins; of one without a number, as `begin`
  std::size_t end = 0;
  int port = 0;
  bool flag = false;  // "-p 2222" of a command
};

// Ports by the words around them: "port 2222", "ports 22", "-p 2222", "ssh on 2222", "sshd listens
// on twenty-two twenty-two", "the usual ssh port". Between 1 and 65535, in their order. `lower` is
// the sentence in lower case. Pure.
std::vector<PortMention> PortsIn(absl::string_view lower, const TalkWords& words);

// Whether the words around a port assign it to a service other than the login, or deny it. Pure.
bool IsOtherPort(absl::string_view lower, const PortMention& port, const TalkWords& words);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_PORTS_H_
