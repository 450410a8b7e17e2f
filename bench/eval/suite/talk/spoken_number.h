#ifndef BENCH_EVAL_SUITE_TALK_SPOKEN_NUMBER_H_
#define BENCH_EVAL_SUITE_TALK_SPOKEN_NUMBER_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace galen::talk {

struct SpokenNumber {
  int value = 0;
  std::size_t end = 0;  // where its last word ends in the text
};

// The number at the beginning of `text`, in digits or in words as people say ports: "2222", "two
// thousand two hundred and two", "twenty-two twenty-two", "two two zero double one". Nothing if
// there is no number or it is above 999,999. `text` in lower case. Pure.
std::optional<SpokenNumber> ReadNumber(absl::string_view text);

}  // namespace galen::talk

#endif  // BENCH_EVAL_SUITE_TALK_SPOKEN_NUMBER_H_
