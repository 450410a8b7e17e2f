#ifndef SERVICES_NODE_CHECKS_CUDA_PATTERN_PATTERN_WORDS_H_
#define SERVICES_NODE_CHECKS_CUDA_PATTERN_PATTERN_WORDS_H_

// The words of a memory pattern. Also compiled for GPUs, so it includes nothing and uses no type
// whose size differs there.
#ifdef __CUDA__
#define GALEN_HOST_AND_GPU __attribute__((host, device))
#else
#define GALEN_HOST_AND_GPU
#endif

namespace galen::node::cuda {

// Families of patterns. Each is written, then read back and replaced by its complement in one
// sweep, then the complement is read: every cell holds both values, every value is read.
inline constexpr unsigned kSolid = 0;    // 0x00000000, then 0xffffffff
inline constexpr unsigned kChecker = 1;  // 0x55555555, then 0xaaaaaaaa
inline constexpr unsigned kAddress = 2;  // each 8 bytes hold their own address: finds crossed lines
inline constexpr unsigned kRandom = 3;   // a hash of the address and a seed
inline constexpr unsigned kFamilies = 4;
// Added to a family: its complement.
inline constexpr unsigned kInverted = 16;

// Odd constants of the usual integer hashes (golden ratio; MurmurHash3's finalizer).
inline constexpr unsigned kHashStep = 0x9E3779B1U;
inline constexpr unsigned kHashFactor = 0x85EBCA6BU;

// The random word of word number `word` (address divided by 4, its low 32 bits).
GALEN_HOST_AND_GPU inline unsigned RandomWord(unsigned word, unsigned seed) {
  unsigned x = word * kHashStep + seed;
  x ^= x >> 15;
  x *= kHashFactor;
  return x ^ (x >> 13);
}

// The word that `pattern` (a family, maybe + kInverted) puts at `address`, a multiple of 4.
GALEN_HOST_AND_GPU inline unsigned PatternWord(unsigned pattern, unsigned seed,
                                               unsigned long long address) {
  unsigned word = 0;
  const unsigned family = pattern & (kInverted - 1);
  if (family == kChecker) {
    word = 0x55555555U;
  } else if (family == kAddress) {
    const unsigned long long own = address & ~7ULL;
    word = (address & 4) != 0 ? static_cast<unsigned>(own >> 32) : static_cast<unsigned>(own);
  } else if (family == kRandom) {
    word = RandomWord(static_cast<unsigned>(address >> 2), seed);
  }
  return (pattern & kInverted) != 0 ? ~word : word;
}

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_PATTERN_PATTERN_WORDS_H_
