#include "services/node/checks/cuda/gputest/golden.h"

#include <array>
#include <cmath>

namespace galen::node::cuda {
namespace {

constexpr unsigned kTileElements = kTile * kTile;
constexpr unsigned kWarps = kLanes / 32;

// Small whole numbers as IEEE 754 binary16.
std::uint16_t Half(int value) {
  const std::uint16_t sign = value < 0 ? 0x8000 : 0;
  switch (value < 0 ? -value : value) {
    case 0:
      return 0;
    case 1:
      return sign | 0x3C00;
    default:
      return sign | 0x4000;  // 2, the largest that TileElement gives
  }
}

}  // namespace

unsigned long long ExpectedCompute(unsigned seed, unsigned rounds) {
  std::array<Lane, kLanes> lanes;
  std::array<unsigned, kLanes> exchange;
  for (unsigned i = 0; i < kLanes; ++i) lanes[i] = StartLane(seed, i);
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < kLanes; ++i) {
      for (unsigned step = 0; step < kStepsPerRound; ++step) StepLane(lanes[i]);
      exchange[i] = lanes[i].hash;
    }
    for (unsigned i = 0; i < kLanes; ++i) lanes[i].hash ^= exchange[Partner(i, round)];
  }
  unsigned long long hash = 0;
  for (unsigned i = 0; i < kLanes; ++i) hash += LaneShare(lanes[i].hash, i);
  return hash;
}

std::vector<std::uint16_t> TensorOperand(unsigned seed) {
  std::vector<std::uint16_t> tiles(kTilePairs * kTileElements);
  for (unsigned i = 0; i < tiles.size(); ++i) tiles[i] = Half(TileElement(i, seed));
  return tiles;
}

unsigned long long ExpectedTensor(unsigned seed_a, unsigned seed_b, unsigned rounds) {
  // Sums of the even pairs and of the odd ones.
  std::array<std::array<int, kTileElements>, 2> sums = {};
  for (unsigned pair = 0; pair < kTilePairs; ++pair) {
    for (unsigned row = 0; row < kTile; ++row) {
      for (unsigned column = 0; column < kTile; ++column) {
        for (unsigned k = 0; k < kTile; ++k) {
          sums[pair % 2][row * kTile + column] +=
              TileElement(pair * kTileElements + row * kTile + k, seed_a) *
              TileElement(pair * kTileElements + k * kTile + column, seed_b);
        }
      }
    }
  }
  unsigned long long hash = 0;
  for (unsigned warp = 0; warp < kWarps; ++warp) {
    for (unsigned which = 0; which < 2; ++which) {
      for (unsigned i = 0; i < kTileElements; ++i) {
        const auto value = static_cast<float>(sums[which][i] * static_cast<int>(rounds));
        hash += LaneShare(FloatBits(value), (warp * 2 + which) * kTileElements + i);
      }
    }
  }
  return hash;
}

float ExpectedProduct(unsigned row, unsigned column, unsigned size, unsigned seed_a,
                      unsigned seed_b) {
  float sum = 0;
  for (unsigned k = 0; k < size; ++k) {
    sum = std::fma(RandomElement(row * size + k, seed_a), RandomElement(k * size + column, seed_b),
                   sum);
  }
  return sum;
}

}  // namespace galen::node::cuda
