#ifndef TESTS_FUZZ_FUZZER_H_
#define TESTS_FUZZ_FUZZER_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace galen::fuzz {

// One parser of hostile text. It returns for any text: no crash, no hang, no leak.
struct Parser {
  // Names it in seeds.txt and in the counts; unique within the target.
  std::string name;
  // `text` is not terminated, and what lies behind it is not readable.
  std::function<void(absl::string_view text)> run;
};

// The parsers of this target, at most 255: each target defines it. The first byte of an input
// chooses one of them, modulo their number; the rest is its text. fuzzer.cc is the main part of
// every target: it also sees to it that each parser gets its share of the inputs, and counts.
absl::Span<const Parser> Parsers();

// Keeps `value` from being optimised away.
template <typename T>
void Use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace galen::fuzz

#endif  // TESTS_FUZZ_FUZZER_H_
