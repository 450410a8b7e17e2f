#ifndef SERVICES_NODE_CHECKS_CUDA_PATTERN_PATTERN_RUN_H_
#define SERVICES_NODE_CHECKS_CUDA_PATTERN_PATTERN_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/node/checks/cuda/pattern/pattern_words.h"

namespace galen::node::cuda {

// One sweep: a pattern (a family of pattern_words.h, maybe + kInverted) and its seed.
struct Pattern {
  unsigned pattern = kSolid;
  unsigned seed = 0;
};

// A word that was not what it ought to be.
struct Mismatch {
  std::uint64_t address = 0;
  std::uint32_t expected = 0;
  std::uint32_t actual = 0;
  unsigned pattern = 0;
};

// Mismatches of a sweep or of a whole test: all of them counted, the first ones kept.
struct MismatchLog {
  static constexpr std::size_t kKept = 16;

  std::uint64_t count = 0;      // words
  std::uint32_t bits = 0;       // bits that were ever wrong, of a word
  std::vector<Mismatch> first;  // at most kKept

  void Add(const Mismatch& mismatch);
  void Merge(const MismatchLog& other);
};

// Memory that can be swept: this machine's or a GPU's. Offsets and sizes are multiples of 64.
class PatternMemory {
 public:
  virtual ~PatternMemory() = default;

  virtual std::uint64_t bytes() const = 0;
  // The most bytes that one call should cover, so that it takes well under a second.
  virtual std::uint64_t chunk() const = 0;
  virtual void Write(Pattern pattern, std::uint64_t offset, std::uint64_t bytes) = 0;
  // Compares with `pattern` and, when `invert`, leaves its complement behind.
  virtual void Check(Pattern pattern, bool invert, std::uint64_t offset, std::uint64_t bytes,
                     MismatchLog& log) = 0;
};

struct PatternTestOptions {
  std::vector<unsigned> families = {kSolid, kChecker, kAddress, kRandom};
  // The families are gone through this often, each time with another seed.
  unsigned rounds = 1;
};

struct PatternReport {
  MismatchLog mismatches;
  std::uint64_t bytes_written = 0;
  std::uint64_t bytes_read = 0;
  // Patterns (a family and its complement are two) that went over all of the memory.
  unsigned patterns = 0;
  bool complete = false;  // false: `go_on` ended it
};

// Writes and reads back every pattern over all of `memory`. Calls `go_on` before each chunk with
// the finished share, 0 to 1; false ends the test.
PatternReport RunPatternTest(PatternMemory& memory, const PatternTestOptions& options,
                             const std::function<bool(double done)>& go_on);

// "0x55555555", "inverted random".
std::string PatternName(unsigned pattern);

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_PATTERN_PATTERN_RUN_H_
