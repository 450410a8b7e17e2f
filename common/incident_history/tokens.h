#ifndef COMMON_INCIDENT_HISTORY_TOKENS_H_
#define COMMON_INCIDENT_HISTORY_TOKENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace galen::incident_history {

// Limits of the text that is read.
inline constexpr size_t kMaxTextBytes = 64 << 10;
inline constexpr size_t kMaxTokens = 20000;

// The words of a text for retrieval: lower case; letters, digits, '_' and '.' inside a word belong
// to it; numbers of more than four digits, hexadecimal addresses and words of one letter say
// nothing of a cause and go. At most kMaxTokens words. Pure.
std::vector<std::string> Tokens(absl::string_view text);

// The same, word by word, without keeping them. A word is valid during the call only.
void ForEachToken(absl::string_view text, absl::FunctionRef<void(absl::string_view)> use);

// A 64-bit hash that is the same on every platform, since files contain it. Words are known by it
// alone; two of a million words share one with a probability below 1e-7.
std::uint64_t Hash64(absl::string_view text);
// Mixes the bits of a number (the finaliser of MurmurHash3).
std::uint64_t Mix(std::uint64_t value);

// The features of a text by which it is compared.
struct Analysis {
  struct Term {
    std::uint64_t hash = 0;
    std::uint8_t count = 0;  // at most 255
  };
  std::vector<Term> terms;           // by rising hash, each once
  std::vector<std::uint16_t> pairs;  // hashed pairs of neighbouring words, rising, each once
  std::uint16_t length = 0;          // words
};

// Reads the first kMaxTextBytes of `text`. Pure.
Analysis Analyse(absl::string_view text);

// The hashes of the words, and the pairs: what an index counts. Each once. Pure.
std::vector<std::uint64_t> FeaturesOf(const Analysis& analysis);

}  // namespace galen::incident_history

#endif  // COMMON_INCIDENT_HISTORY_TOKENS_H_
