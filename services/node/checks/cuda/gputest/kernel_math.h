#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_KERNEL_MATH_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_KERNEL_MATH_H_

// The arithmetic of the kernels, compiled for the GPU and for this machine: IEEE 754 leaves one
// right answer to each step (multiplication and fused multiply-add, never contracted otherwise), so
// the CPU computes bit for bit the result that every SM must produce.
#include "services/node/checks/cuda/pattern/pattern_words.h"

namespace galen::node::cuda {

// A mismatch that galen_check found, as the GPU writes it.
inline constexpr unsigned kKeptMismatches = 16;
struct DeviceMismatch {
  unsigned long long address;
  unsigned expected;
  unsigned actual;
};
struct DeviceMismatches {
  unsigned long long count;
  unsigned bits;
  unsigned kept;  // may be more than kKeptMismatches: those were not kept
  DeviceMismatch first[kKeptMismatches];
};

// One block of galen_compute or galen_tensor.
struct BlockResult {
  unsigned sm;
  unsigned not_finite;  // lanes that ended with NaN or infinity
  unsigned long long hash;
};

inline constexpr unsigned kLanes = 256;         // threads of a block
inline constexpr unsigned kStepsPerRound = 16;  // between two exchanges of the lanes

// One thread of galen_compute. Two logistic maps, in single and in double precision, amplify a
// wrong bit; the hash remembers it.
struct Lane {
  float x;
  double y;
  unsigned hash;
};

GALEN_HOST_AND_GPU inline unsigned FloatBits(float value) {
  unsigned bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

GALEN_HOST_AND_GPU inline unsigned DoubleBits(double value) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return static_cast<unsigned>(bits) ^ static_cast<unsigned>(bits >> 32);
}

GALEN_HOST_AND_GPU inline Lane StartLane(unsigned seed, unsigned lane) {
  const unsigned random = RandomWord(lane, seed);
  // 0.25 to 0.75, exact.
  const float start = 0.25F + static_cast<float>(random >> 9) * (0.5F / 8388608.0F);
  return {start, static_cast<double>(start), random};
}

GALEN_HOST_AND_GPU inline void StepLane(Lane& lane) {
  // 3.9 x (1 - x) stays within 0 and 0.975.
  lane.x = 3.9F * __builtin_fmaf(-lane.x, lane.x, lane.x);
  lane.y = 3.9 * __builtin_fma(-lane.y, lane.y, lane.y);
  lane.hash = (lane.hash ^ FloatBits(lane.x)) * kHashStep + DoubleBits(lane.y);
}

GALEN_HOST_AND_GPU inline bool LaneIsFinite(const Lane& lane) {
  // Comparisons with NaN are false.
  return lane.x >= -1e30F && lane.x <= 1e30F && lane.y >= -1e30 && lane.y <= 1e30;
}

// The contribution of a lane to its block's hash: summed, so that the order of lanes does not
// matter.
GALEN_HOST_AND_GPU inline unsigned long long LaneShare(unsigned hash, unsigned lane) {
  return (static_cast<unsigned long long>(hash) ^ (static_cast<unsigned long long>(lane) << 32)) *
         0x9E3779B97F4A7C15ULL;
}

// The lane that `lane` reads from after round `round`.
GALEN_HOST_AND_GPU inline unsigned Partner(unsigned lane, unsigned round) {
  return (lane + 2 * round + 1) % kLanes;
}

// Element of a matrix of random numbers from -1 to 1: never zero for long, unlike cleared memory,
// which draws far less power.
GALEN_HOST_AND_GPU inline float RandomElement(unsigned index, unsigned seed) {
  const int random = static_cast<int>(RandomWord(index, seed) >> 8) - (1 << 23);
  return static_cast<float>(random) * (1.0F / 8388608.0F);
}

// galen_tensor multiplies this many pairs of 16 x 16 matrices of small whole numbers in turn. They
// and the sums are exact in half and in single precision, whatever the order of the additions.
inline constexpr unsigned kTile = 16;
inline constexpr unsigned kTilePairs = 8;

GALEN_HOST_AND_GPU inline int TileElement(unsigned index, unsigned seed) {
  return static_cast<int>(RandomWord(index, seed) % 5) - 2;
}

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_KERNEL_MATH_H_
