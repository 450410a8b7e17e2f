#ifndef SERVICES_NODE_CHECKS_CUDA_PATTERN_HOST_MEMORY_H_
#define SERVICES_NODE_CHECKS_CUDA_PATTERN_HOST_MEMORY_H_

#include <cstdint>

#include "services/node/checks/cuda/pattern/pattern_run.h"

namespace galen::node::cuda {

// Sweeps over this machine's own memory, as wide as its processor allows.
class HostMemory final : public PatternMemory {
 public:
  // `data` is aligned to 64 bytes, `bytes` a multiple of 64; both stay the caller's. `widest` false
  // keeps to the portable sweep.
  HostMemory(void* data, std::uint64_t bytes, bool widest = true);

  std::uint64_t bytes() const override { return bytes_; }
  std::uint64_t chunk() const override { return std::uint64_t{64} << 20; }
  void Write(Pattern pattern, std::uint64_t offset, std::uint64_t bytes) override;
  void Check(Pattern pattern, bool invert, std::uint64_t offset, std::uint64_t bytes,
             MismatchLog& log) override;

 private:
  std::uint32_t* At(std::uint64_t offset) const { return data_ + offset / sizeof(std::uint32_t); }

  std::uint32_t* const data_;
  const std::uint64_t bytes_;
  const bool wide_;
};

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_PATTERN_HOST_MEMORY_H_
