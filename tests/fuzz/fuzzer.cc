#include "tests/fuzz/fuzzer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

// The functions that libFuzzer calls, and the one that it offers.
extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned int seed);
}

namespace {

// Executions by parser.
std::array<std::int64_t, 256> counts;

void PrintCounts() {
  const auto parsers = galen::fuzz::Parsers();
  for (std::size_t i = 0; i < parsers.size(); ++i) {
    std::fprintf(stderr, "executions %12lld  %s\n", static_cast<long long>(counts[i]),
                 parsers[i].name.c_str());
  }
}

}  // namespace

// With GALEN_FUZZ_LIST set it prints the parsers' names in their order and ends: seeds.py asks.
int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const auto parsers = galen::fuzz::Parsers();
  if (parsers.empty() || parsers.size() > 255) std::abort();
  if (std::getenv("GALEN_FUZZ_LIST") != nullptr) {
    for (const galen::fuzz::Parser& parser : parsers) {
      std::printf("%s\n", parser.name.c_str());
    }
    std::exit(0);
  }
  std::atexit(PrintCounts);
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto parsers = galen::fuzz::Parsers();
  const std::size_t chosen = data[0] % parsers.size();
  ++counts[chosen];
  parsers[chosen].run(absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}

// One input in four goes to a parser drawn evenly, so that each gets inputs even if libFuzzer
// prefers others; the other inputs stay with the parser whose input was changed.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned int seed) {
  if (max_size < 2) return size;
  if (size == 0) data[size++] = 0;
  const std::size_t changed = 1 + LLVMFuzzerMutate(data + 1, size - 1, max_size - 1);
  std::minstd_rand random(seed);
  if (random() % 4 == 0) {
    data[0] = static_cast<std::uint8_t>(random() % galen::fuzz::Parsers().size());
  }
  return changed;
}
