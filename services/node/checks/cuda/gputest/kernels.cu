// Kernels that every GPU since Volta runs. Built to PTX by clang (CMakeLists.txt), which the driver
// compiles for the GPU at hand.
#include "services/node/checks/cuda/gputest/cuda_words.h"
#include "services/node/checks/cuda/gputest/kernel_math.h"

using namespace galen::node::cuda;

namespace {

template <unsigned kFamily>
GALEN_GPU Vector PatternVector(unsigned pattern, unsigned seed, unsigned long long address) {
  const unsigned fixed = kFamily | (pattern & kInverted);
  return {PatternWord(fixed, seed, address), PatternWord(fixed, seed, address + 4),
          PatternWord(fixed, seed, address + 8), PatternWord(fixed, seed, address + 12)};
}

template <unsigned kFamily>
GALEN_GPU void Write(Vector* memory, unsigned long long vectors, unsigned pattern, unsigned seed,
                     unsigned long long origin) {
  for (unsigned long long i = GridThread(); i < vectors; i += GridThreads()) {
    memory[i] = PatternVector<kFamily>(pattern, seed,
                                       reinterpret_cast<unsigned long long>(memory + i) - origin);
  }
}

GALEN_GPU void ReportMismatch(DeviceMismatches* found, unsigned long long address,
                              unsigned expected, unsigned actual) {
  if (expected == actual) return;
  __atomic_fetch_add(&found->count, 1ULL, __ATOMIC_RELAXED);
  __atomic_fetch_or(&found->bits, expected ^ actual, __ATOMIC_RELAXED);
  const unsigned slot = __atomic_fetch_add(&found->kept, 1U, __ATOMIC_RELAXED);
  if (slot < kKeptMismatches) found->first[slot] = {address, expected, actual};
}

template <unsigned kFamily>
GALEN_GPU void CheckVector(Vector* at, Vector actual, unsigned pattern, unsigned seed,
                           unsigned long long origin, unsigned invert, DeviceMismatches* found) {
  const auto address = reinterpret_cast<unsigned long long>(at);
  const Vector expected = PatternVector<kFamily>(pattern, seed, address - origin);
  const Vector wrong = expected ^ actual;
  if ((wrong.x | wrong.y | wrong.z | wrong.w) != 0) {
    ReportMismatch(found, address, expected.x, actual.x);
    ReportMismatch(found, address + 4, expected.y, actual.y);
    ReportMismatch(found, address + 8, expected.z, actual.z);
    ReportMismatch(found, address + 12, expected.w, actual.w);
  }
  if (invert != 0) *at = ~expected;
}

// Four loads are under way before the first is looked at, so that memory never waits for a thread.
template <unsigned kFamily>
GALEN_GPU void Check(Vector* memory, unsigned long long vectors, unsigned pattern, unsigned seed,
                     unsigned long long origin, unsigned invert, DeviceMismatches* found) {
  const unsigned long long step = GridThreads();
  unsigned long long i = GridThread();
  for (; i + 3 * step < vectors; i += 4 * step) {
    const Vector first = memory[i];
    const Vector second = memory[i + step];
    const Vector third = memory[i + 2 * step];
    const Vector fourth = memory[i + 3 * step];
    CheckVector<kFamily>(memory + i, first, pattern, seed, origin, invert, found);
    CheckVector<kFamily>(memory + i + step, second, pattern, seed, origin, invert, found);
    CheckVector<kFamily>(memory + i + 2 * step, third, pattern, seed, origin, invert, found);
    CheckVector<kFamily>(memory + i + 3 * step, fourth, pattern, seed, origin, invert, found);
  }
  for (; i < vectors; i += step) {
    CheckVector<kFamily>(memory + i, memory[i], pattern, seed, origin, invert, found);
  }
}

}  // namespace

// Nothing but a sign of life.
GALEN_KERNEL void galen_hello(unsigned* out, unsigned value) {
  if (GridThread() == 0) *out = value ^ kHashStep;
}

// `vectors` of 16 bytes from `memory` on. The pattern goes by addresses less `origin`: 0, or where
// the memory begins for what is copied elsewhere.
GALEN_KERNEL void galen_write(Vector* memory, unsigned long long vectors, unsigned pattern,
                              unsigned seed, unsigned long long origin) {
  switch (pattern & (kInverted - 1)) {
    case kSolid:
      return Write<kSolid>(memory, vectors, pattern, seed, origin);
    case kChecker:
      return Write<kChecker>(memory, vectors, pattern, seed, origin);
    case kAddress:
      return Write<kAddress>(memory, vectors, pattern, seed, origin);
    default:
      return Write<kRandom>(memory, vectors, pattern, seed, origin);
  }
}

GALEN_KERNEL void galen_check(Vector* memory, unsigned long long vectors, unsigned pattern,
                              unsigned seed, unsigned long long origin, unsigned invert,
                              DeviceMismatches* found) {
  switch (pattern & (kInverted - 1)) {
    case kSolid:
      return Check<kSolid>(memory, vectors, pattern, seed, origin, invert, found);
    case kChecker:
      return Check<kChecker>(memory, vectors, pattern, seed, origin, invert, found);
    case kAddress:
      return Check<kAddress>(memory, vectors, pattern, seed, origin, invert, found);
    default:
      return Check<kRandom>(memory, vectors, pattern, seed, origin, invert, found);
  }
}

// Every block computes the same, so every SM has to give the same; kLanes threads a block.
GALEN_KERNEL void galen_compute(unsigned seed, unsigned rounds, BlockResult* results) {
  GALEN_SHARED static unsigned exchange[kLanes];
  GALEN_SHARED static unsigned long long hash;
  GALEN_SHARED static unsigned not_finite;
  const unsigned lane_number = ThreadNumber();
  if (lane_number == 0) {
    hash = 0;
    not_finite = 0;
  }
  Lane lane = StartLane(seed, lane_number);
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned step = 0; step < kStepsPerRound; ++step) StepLane(lane);
    exchange[lane_number] = lane.hash;
    __syncthreads();
    lane.hash ^= exchange[Partner(lane_number, round)];
    __syncthreads();
  }
  __atomic_fetch_add(&hash, LaneShare(lane.hash, lane_number), __ATOMIC_RELAXED);
  if (!LaneIsFinite(lane)) __atomic_fetch_add(&not_finite, 1U, __ATOMIC_RELAXED);
  __syncthreads();
  if (lane_number == 0) results[BlockNumber()] = {SmNumber(), not_finite, hash};
}

GALEN_KERNEL void galen_random_matrix(float* matrix, unsigned elements, unsigned seed) {
  for (unsigned long long i = GridThread(); i < elements; i += GridThreads()) {
    matrix[i] = RandomElement(static_cast<unsigned>(i), seed);
  }
}

// c = a b for square matrices of single precision, `size` a multiple of 128; blocks of 256 threads,
// one for each 128 x 128 elements of c. Each thread keeps 8 x 8 of them in registers.
GALEN_KERNEL void galen_gemm(const float* a, const float* b, float* c, unsigned size) {
  constexpr unsigned kBlock = 128;
  constexpr unsigned kDepth = 8;
  constexpr unsigned kOwn = 8;
  GALEN_SHARED static Floats tile_a[kDepth][kBlock / 4];
  GALEN_SHARED static Floats tile_b[kDepth][kBlock / 4];
  const unsigned thread = ThreadNumber();
  const unsigned blocks = size / kBlock;
  const unsigned long long row = static_cast<unsigned long long>(BlockNumber() / blocks) * kBlock;
  const unsigned column = (BlockNumber() % blocks) * kBlock;
  const unsigned own_row = (thread / 16) * kOwn;
  const unsigned own_column = (thread % 16) * kOwn;
  float sum[kOwn][kOwn];
#pragma unroll
  for (unsigned i = 0; i < kOwn; ++i) {
#pragma unroll
    for (unsigned j = 0; j < kOwn; ++j) sum[i][j] = 0;
  }
  for (unsigned k = 0; k < size; k += kDepth) {
    // 1024 elements of each tile, four for each thread; that of a is turned on its side.
    const unsigned a_row = thread / 2;
    const unsigned a_k = (thread % 2) * 4;
    const unsigned b_k = thread / 32;
    const unsigned b_column = thread % 32;
    const Floats from_row = *reinterpret_cast<const Floats*>(a + (row + a_row) * size + k + a_k);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      reinterpret_cast<float*>(tile_a[a_k + i])[a_row] = from_row[i];
    }
    tile_b[b_k][b_column] = *reinterpret_cast<const Floats*>(
        b + static_cast<unsigned long long>(k + b_k) * size + column + b_column * 4);
    __syncthreads();
#pragma unroll
    for (unsigned depth = 0; depth < kDepth; ++depth) {
      const Floats a_low = tile_a[depth][own_row / 4];
      const Floats a_high = tile_a[depth][own_row / 4 + 1];
      const Floats b_low = tile_b[depth][own_column / 4];
      const Floats b_high = tile_b[depth][own_column / 4 + 1];
#pragma unroll
      for (unsigned i = 0; i < kOwn; ++i) {
#pragma unroll
        for (unsigned j = 0; j < kOwn; ++j) {
          sum[i][j] = __builtin_fmaf(i < 4 ? a_low[i] : a_high[i - 4],
                                     j < 4 ? b_low[j] : b_high[j - 4], sum[i][j]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (unsigned i = 0; i < kOwn; ++i) {
#pragma unroll
    for (unsigned j = 0; j < kOwn; ++j) {
      c[(row + own_row + i) * size + column + own_column + j] = sum[i][j];
    }
  }
}
