// The speed of writing and checking memory, compared with memset and memcmp in the same run: one
// thread each, over memory that no cache holds.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "services/node/checks/cuda/pattern/host_memory.h"
#include "services/node/checks/cuda/pattern/pattern_run.h"

namespace galen::node::cuda {
namespace {

constexpr std::size_t kBytes = std::size_t{512} << 20;
// The compared data stays in the cache: the faster of the two ways to use memcmp.
constexpr std::size_t kReference = 64 << 10;

unsigned char* Map() {
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
}

// Processor time of this thread: time used by others does not count.
double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Writes and compares four values the way libc does it.
void FillAndCompare(unsigned char* memory) {
  static std::vector<unsigned char> reference(kReference);
  for (const int value : {0x00, 0xFF, 0x55, 0xAA}) {
    std::memset(memory, value, kBytes);
    std::memset(reference.data(), value, reference.size());
    int difference = 0;
    for (std::size_t at = 0; at < kBytes; at += kReference) {
      difference |= std::memcmp(memory + at, reference.data(), kReference);
    }
    benchmark::DoNotOptimize(difference);
  }
}

// Four patterns by the engine: two families and their complements.
void TestFourPatterns(unsigned char* memory, const std::vector<unsigned>& families) {
  HostMemory host(memory, kBytes);
  const PatternReport report =
      RunPatternTest(host, {.families = families}, [](double) { return true; });
  benchmark::DoNotOptimize(report.mismatches.count);
}

// Both in turn within one iteration, so that a neighbour of this machine slows down both alike.
// `ratio` is engine over libc, by bytes a second: 1 is as fast.
void BM_FourPatterns(benchmark::State& state, const std::vector<unsigned>& families) {
  unsigned char* const memory = Map();
  if (memory == nullptr) {
    state.SkipWithError("no memory");
    return;
  }
  double libc = 0;
  double engine = 0;
  for (auto _ : state) {
    double start = ThreadSeconds();
    FillAndCompare(memory);
    libc += ThreadSeconds() - start;
    start = ThreadSeconds();
    TestFourPatterns(memory, families);
    const double taken = ThreadSeconds() - start;
    engine += taken;
    state.SetIterationTime(taken);
  }
  // Each of the four patterns is written once and read once.
  const double bytes = 8.0 * kBytes * static_cast<double>(state.iterations());
  state.counters["engine_GB_s"] = bytes / engine / 1e9;
  state.counters["libc_GB_s"] = bytes / libc / 1e9;
  state.counters["ratio"] = libc / engine;
  munmap(memory, kBytes);
}
BENCHMARK_CAPTURE(BM_FourPatterns, constant, std::vector<unsigned>{kSolid, kChecker})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK_CAPTURE(BM_FourPatterns, address_and_random, std::vector<unsigned>{kAddress, kRandom})
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

}  // namespace
}  // namespace galen::node::cuda
