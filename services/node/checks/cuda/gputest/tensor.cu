// The kernel that uses tensor cores. A module of its own, so that a driver that refuses it leaves
// the rest of the tests.
#include "services/node/checks/cuda/gputest/cuda_words.h"
#include "services/node/checks/cuda/gputest/kernel_math.h"

using namespace galen::node::cuda;

// Each of the 8 warps of a block multiplies the same `kTilePairs` pairs of tiles over and over, in
// two sums; `a` and `b` hold the tiles one after the other, in half precision.
GALEN_KERNEL void galen_tensor(const int* a, const int* b, unsigned rounds, BlockResult* results) {
  constexpr unsigned kWarps = kLanes / 32;
  constexpr unsigned kElements = kTile * kTile;
  // wmma stores want 32 bytes.
  GALEN_SHARED static float sums[kWarps][2][kElements] __attribute__((aligned(32)));
  GALEN_SHARED static unsigned long long hash;
  GALEN_SHARED static unsigned not_finite;
  if (ThreadNumber() == 0) {
    hash = 0;
    not_finite = 0;
  }
  float even[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  float odd[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned pair = 0; pair < kTilePairs; pair += 2) {
      int tile_a[8];
      int tile_b[8];
      // Two halves make an int.
      __hmma_m16n16k16_ld_a(tile_a, a + pair * kElements / 2, kTile, 0);
      __hmma_m16n16k16_ld_b(tile_b, b + pair * kElements / 2, kTile, 0);
      __hmma_m16n16k16_mma_f32f32(even, tile_a, tile_b, even, 0, 0);
      __hmma_m16n16k16_ld_a(tile_a, a + (pair + 1) * kElements / 2, kTile, 0);
      __hmma_m16n16k16_ld_b(tile_b, b + (pair + 1) * kElements / 2, kTile, 0);
      __hmma_m16n16k16_mma_f32f32(odd, tile_a, tile_b, odd, 0, 0);
    }
  }
  const unsigned warp = ThreadNumber() / 32;
  __hmma_m16n16k16_st_c_f32(sums[warp][0], even, kTile, 0);
  __hmma_m16n16k16_st_c_f32(sums[warp][1], odd, kTile, 0);
  __syncthreads();
  unsigned long long share = 0;
  unsigned bad = 0;
  for (unsigned i = ThreadNumber(); i < kWarps * 2 * kElements; i += kLanes) {
    const float value = (&sums[0][0][0])[i];
    share += LaneShare(FloatBits(value), i);
    if (!(value >= -1e30F && value <= 1e30F)) ++bad;
  }
  __atomic_fetch_add(&hash, share, __ATOMIC_RELAXED);
  __atomic_fetch_add(&not_finite, bad, __ATOMIC_RELAXED);
  __syncthreads();
  if (ThreadNumber() == 0) results[BlockNumber()] = {SmNumber(), not_finite, hash};
}
