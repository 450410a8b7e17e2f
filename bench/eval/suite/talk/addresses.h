#ifndef BENCH_EVAL_SUITE_TALK_ADDRESSES_H_
#define BENCH_EVAL_SUITE_TALK_ADDRESSES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/eval/suite/talk/talk_words.h"

namespace galen::talk {

// An address in a sentence.
struct Mention {
  std::size_t begin = 0;  // bytes of the sentence that it takes, its port and brackets included
  std::size_t end = 0;
  std::string address;      // canonical: "10.0.0.5", "fd00::5"
  std::optional<int> port;  // written at the address
  // A network ("10.0.0.0/24"), a mask or a version: not a machine.
  bool no_machine = false;
};

// The addresses of a sentence in their order. Ranges ("10.0.0.5-8", "10.0.0.5 through 8") become
// one mention for each, up to 64. `lower` is the sentence in lower case. Pure.
std::vector<Mention> AddressesIn(absl::string_view lower, const TalkWords& words);

// Short forms, with the end of an address only: ".17" or "dot 17" after a space; `address` of a
// mention is the number alone. Pure.
std::vector<Mention> ShortFormsIn(absl::string_view lower);

// Puts mentions into the order of the sentence; those of one place stay as they are.
void SortByPlace(std::vector<Mention>& mentions);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_ADDRESSES_H_
