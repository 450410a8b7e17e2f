#ifndef SERVICES_NODE_CHECKS_CUDA_PATTERN_WIDE_SWEEP_H_
#define SERVICES_NODE_CHECKS_CUDA_PATTERN_WIDE_SWEEP_H_

// Sweeps in vectors of 32 bytes (AVX2), compiled for that alone: nothing that other files share may
// be defined inline here. `bytes` is a multiple of 64 and `memory` aligned to 64.
namespace galen::node::cuda {

// False: the processor, or the compiler's target, cannot do it.
bool WideSweepWorks();

void WideWrite(unsigned* memory, unsigned long long bytes, unsigned pattern, unsigned seed);

// Goes on from `memory` until all is checked, or a block of 64 bytes is wrong, and gives how many
// bytes were right. When `invert`, it replaces those by their complement.
unsigned long long WideCheck(unsigned* memory, unsigned long long bytes, unsigned pattern,
                             unsigned seed, bool invert);

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_PATTERN_WIDE_SWEEP_H_
