#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_GOLDEN_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_GOLDEN_H_

#include <cstdint>
#include <vector>

#include "services/node/checks/cuda/gputest/kernel_math.h"

// The results that the kernels must produce, computed on this machine's CPU.
namespace galen::node::cuda {

// The hash of a block of galen_compute.
unsigned long long ExpectedCompute(unsigned seed, unsigned rounds);

// The operands of galen_tensor, in half precision: kTilePairs tiles of kTile x kTile each.
std::vector<std::uint16_t> TensorOperand(unsigned seed);
// The hash of a block of galen_tensor on operands of these seeds. `rounds` at most 4096, up to
// which all sums are exact.
unsigned long long ExpectedTensor(unsigned seed_a, unsigned seed_b, unsigned rounds);

// Element (`row`, `column`) of the product of two random matrices, added up in the kernel's order.
float ExpectedProduct(unsigned row, unsigned column, unsigned size, unsigned seed_a,
                      unsigned seed_b);

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_GOLDEN_H_
