#include "services/node/checks/cuda/pattern/host_memory.h"

#include <algorithm>

#include "services/node/checks/cuda/pattern/wide_sweep.h"

namespace galen::node::cuda {
namespace {

constexpr std::uint64_t kBlock = 64;

}  // namespace

HostMemory::HostMemory(void* data, std::uint64_t bytes, bool widest)
    : data_(static_cast<std::uint32_t*>(data)), bytes_(bytes), wide_(widest && WideSweepWorks()) {}

void HostMemory::Write(Pattern pattern, std::uint64_t offset, std::uint64_t bytes) {
  if (wide_) {
    WideWrite(At(offset), bytes, pattern.pattern, pattern.seed);
    return;
  }
  for (std::uint64_t at = offset; at < offset + bytes; at += sizeof(std::uint32_t)) {
    *At(at) = PatternWord(pattern.pattern, pattern.seed, reinterpret_cast<std::uint64_t>(At(at)));
  }
}

void HostMemory::Check(Pattern pattern, bool invert, std::uint64_t offset, std::uint64_t bytes,
                       MismatchLog& log) {
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    if (wide_) {
      offset += WideCheck(At(offset), end - offset, pattern.pattern, pattern.seed, invert);
    }
    // The block that is wrong, or the next one, word by word.
    const std::uint64_t block = std::min(offset + kBlock, end);
    for (; offset < block; offset += sizeof(std::uint32_t)) {
      std::uint32_t* const word = At(offset);
      const auto address = reinterpret_cast<std::uint64_t>(word);
      const std::uint32_t expected = PatternWord(pattern.pattern, pattern.seed, address);
      const std::uint32_t actual = *static_cast<volatile std::uint32_t*>(word);
      if (actual != expected) {
        log.Add({.address = address,
                 .expected = expected,
                 .actual = actual,
                 .pattern = pattern.pattern});
      }
      if (invert) *word = ~expected;
    }
  }
}

}  // namespace galen::node::cuda
