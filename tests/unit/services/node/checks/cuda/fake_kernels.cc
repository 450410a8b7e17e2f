#include "tests/unit/services/node/checks/cuda/fake_machine.h"

namespace galen::fake {
namespace {

int Hello(Driver& driver, Arguments& arguments) {
  const auto out = arguments.Next<std::uint64_t>();
  const auto value = arguments.Next<unsigned>();
  Device* const device = driver.Owner(out, 4);
  if (!arguments.right() || device == nullptr) return kIllegalAddress;
  *reinterpret_cast<unsigned*>(out) = value ^ kHashStep;
  return 0;
}

int Pattern(Driver& driver, Arguments& arguments, bool check) {
  const auto memory = arguments.Next<std::uint64_t>();
  const auto vectors = arguments.Next<std::uint64_t>();
  const auto pattern = arguments.Next<unsigned>();
  const auto seed = arguments.Next<unsigned>();
  const auto origin = arguments.Next<std::uint64_t>();
  const auto invert = check ? arguments.Next<unsigned>() : 0U;
  const auto found_at = check ? arguments.Next<std::uint64_t>() : 0U;
  Device* const device = driver.Owner(memory, vectors * 16);
  if (!arguments.right() || device == nullptr) return kIllegalAddress;
  if (check && driver.Owner(found_at, sizeof(DeviceMismatches)) == nullptr) return kIllegalAddress;
  auto* const found = reinterpret_cast<DeviceMismatches*>(found_at);
  for (std::uint64_t at = memory; at < memory + vectors * 16; at += 4) {
    auto* const word = reinterpret_cast<unsigned*>(at);
    const unsigned expected = PatternWord(pattern, seed, at - origin);
    if (!check) {
      *word = expected;
      continue;
    }
    if (*word != expected) {
      ++found->count;
      found->bits |= *word ^ expected;
      if (found->kept < kKeptMismatches) found->first[found->kept] = {at, expected, *word};
      ++found->kept;
    }
    if (invert != 0) *word = ~expected;
  }
  device->clock += static_cast<double>(vectors) * 16 / 1e12;
  driver.Stick(*device);
  return 0;
}

unsigned long long ComputeHash(unsigned seed, unsigned rounds) {
  static std::map<std::pair<unsigned, unsigned>, unsigned long long> known;
  const auto [at, is_new] = known.try_emplace({seed, rounds}, 0);
  if (!is_new) return at->second;
  std::vector<Lane> lanes;
  for (unsigned i = 0; i < kLanes; ++i) lanes.push_back(StartLane(seed, i));
  for (unsigned round = 0; round < rounds; ++round) {
    std::vector<unsigned> exchange;
    for (Lane& lane : lanes) {
      for (unsigned step = 0; step < kStepsPerRound; ++step) StepLane(lane);
      exchange.push_back(lane.hash);
    }
    for (unsigned i = 0; i < kLanes; ++i) lanes[i].hash ^= exchange[(i + 2 * round + 1) % kLanes];
  }
  for (unsigned i = 0; i < kLanes; ++i) at->second += LaneShare(lanes[i].hash, i);
  return at->second;
}

// Blocks go to the SMs in turn; those of a bad one come out wrong.
int WriteResults(Driver& driver, std::uint64_t results, unsigned blocks, unsigned long long hash) {
  Device* const device = driver.Owner(results, blocks * sizeof(BlockResult));
  if (device == nullptr) return kIllegalAddress;
  auto* const out = reinterpret_cast<BlockResult*>(results);
  for (unsigned i = 0; i < blocks; ++i) {
    out[i] = {i % driver.script().sms, 0, hash};
    for (const BadSm& bad : driver.script().bad_sms) {
      if (bad.gpu != device->number || bad.sm != out[i].sm) continue;
      out[i].hash ^= 0x40;
      out[i].not_finite = bad.nan ? 1 : 0;
    }
  }
  device->clock += 1e-3;
  return 0;
}

float FromHalf(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const float magnitude =
      exponent == 0 ? 0
                    : std::ldexp(1.0F + static_cast<float>(half & 1023) / 1024.0F, exponent - 15);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

int Tensor(Driver& driver, Arguments& arguments, unsigned blocks) {
  const auto a = arguments.Next<std::uint64_t>();
  const auto b = arguments.Next<std::uint64_t>();
  const auto rounds = arguments.Next<unsigned>();
  const auto results = arguments.Next<std::uint64_t>();
  constexpr unsigned kElements = kTile * kTile;
  const std::uint64_t bytes = std::uint64_t{kTilePairs} * kElements * 2;
  if (!arguments.right() || driver.Owner(a, bytes) == nullptr ||
      driver.Owner(b, bytes) == nullptr) {
    return kIllegalAddress;
  }
  const auto* const tiles_a = reinterpret_cast<const std::uint16_t*>(a);
  const auto* const tiles_b = reinterpret_cast<const std::uint16_t*>(b);
  static std::array<std::array<float, kElements>, 2> sums;
  static std::tuple<std::uint64_t, std::uint64_t, unsigned> last;
  static unsigned long long hash = 0;
  if (last != std::tuple(a, b, rounds)) {
    last = {a, b, rounds};
    sums = {};
    for (unsigned pair = 0; pair < kTilePairs; ++pair) {
      for (unsigned i = 0; i < kElements; ++i) {
        float sum = 0;
        for (unsigned k = 0; k < kTile; ++k) {
          sum += FromHalf(tiles_a[pair * kElements + i / kTile * kTile + k]) *
                 FromHalf(tiles_b[pair * kElements + k * kTile + i % kTile]);
        }
        sums[pair % 2][i] += sum * static_cast<float>(rounds);
      }
    }
    hash = 0;
    for (unsigned i = 0; i < kLanes / 32 * 2 * kElements; ++i) {
      hash += LaneShare(FloatBits(sums[i / kElements % 2][i % kElements]), i);
    }
  }
  return WriteResults(driver, results, blocks, hash);
}

int RandomMatrix(Driver& driver, Arguments& arguments) {
  const auto matrix = arguments.Next<std::uint64_t>();
  const auto elements = arguments.Next<unsigned>();
  const auto seed = arguments.Next<unsigned>();
  if (!arguments.right() || driver.Owner(matrix, elements * sizeof(float)) == nullptr) {
    return kIllegalAddress;
  }
  for (unsigned i = 0; i < elements; ++i) {
    reinterpret_cast<float*>(matrix)[i] = RandomElement(i, seed);
  }
  ++driver.writes;
  return 0;
}

int Gemm(Driver& driver, Arguments& arguments, unsigned blocks) {
  const auto a = arguments.Next<std::uint64_t>();
  const auto b = arguments.Next<std::uint64_t>();
  const auto c = arguments.Next<std::uint64_t>();
  const auto size = arguments.Next<unsigned>();
  const std::uint64_t bytes = std::uint64_t{size} * size * sizeof(float);
  Device* const device = driver.Owner(c, bytes);
  if (!arguments.right() || device == nullptr || driver.Owner(a, bytes) == nullptr ||
      driver.Owner(b, bytes) == nullptr || size % 128 != 0 ||
      blocks != (size / 128) * (size / 128)) {
    return kIllegalAddress;
  }
  const double flops = 2.0 * size * size * size;
  device->clock +=
      flops / (driver.script().gflops * 1e9 * driver.script().Factor(device->number, "gemm"));
  static std::uint64_t done_at = ~0ULL;
  if (done_at == driver.writes) return 0;  // the same product once more
  done_at = driver.writes;
  const auto* const from_a = reinterpret_cast<const float*>(a);
  const auto* const from_b = reinterpret_cast<const float*>(b);
  auto* const to = reinterpret_cast<float*>(c);
  for (unsigned row = 0; row < size; ++row) {
    float* const sums = to + std::size_t{row} * size;
    std::memset(sums, 0, size * sizeof(float));
    for (unsigned k = 0; k < size; ++k) {
      const float factor = from_a[std::size_t{row} * size + k];
      const float* const line = from_b + std::size_t{k} * size;
      for (unsigned j = 0; j < size; ++j) sums[j] = std::fma(factor, line[j], sums[j]);
    }
  }
  for (const BadSm& bad : driver.script().bad_sms) {
    // The SMs take blocks of rows in turn, as far as this product is concerned.
    if (bad.gpu == device->number) to[std::size_t{bad.sm % size} * size + 3] += 1;
  }
  return 0;
}

}  // namespace

int Launch(Driver& driver, const Function& function, unsigned blocks, void** values) {
  Arguments arguments(function, values);
  Device& device = driver.Current();
  device.clock += 5e-6;
  if (function.name == "galen_hello") return Hello(driver, arguments);
  if (function.name == "galen_write") return Pattern(driver, arguments, false);
  if (function.name == "galen_check") return Pattern(driver, arguments, true);
  if (function.name == "galen_random_matrix") return RandomMatrix(driver, arguments);
  if (function.name == "galen_gemm") return Gemm(driver, arguments, blocks);
  if (function.name == "galen_tensor") return Tensor(driver, arguments, blocks);
  if (function.name == "galen_compute") {
    const auto seed = arguments.Next<unsigned>();
    const auto rounds = arguments.Next<unsigned>();
    const auto results = arguments.Next<std::uint64_t>();
    if (!arguments.right()) return kIllegalAddress;
    return WriteResults(driver, results, blocks, ComputeHash(seed, rounds));
  }
  return kNotFound;
}

}  // namespace galen::fake
