#include <sched.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "services/node/checks/cuda/gputest/golden.h"
#include "services/node/checks/cuda/gputest/gpu.h"
#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"

namespace galen::node::cuda {
namespace {

constexpr double kRateLimit = 30;
constexpr double kBetweenRateProgress = 0.25;
// Before measuring: clocks rise, pages get mapped.
constexpr unsigned kWarmUps = 3;
constexpr unsigned kFewestRuns = 3;
constexpr unsigned kMostRuns = 100000;
constexpr unsigned kSeedA = 21;
constexpr unsigned kSeedB = 22;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Rates {
  double median = 0;
  double min = 0;
  double max = 0;
  std::size_t runs = 0;
};

// Runs `work` over and over for `seconds`; each run does `amount` of whatever the rate is of.
Rates Measure(Gpu& gpu, const std::string& what, double seconds, double amount,
              const std::function<void()>& work, double progress_from = 0, double progress_to = 1) {
  SayStep(kRateLimit, what);
  for (unsigned i = 0; i < kWarmUps; ++i) gpu.Time(what, kRateLimit, work);
  std::vector<double> rates;
  const double start = Now();
  double last = start;
  while ((Now() - start < seconds || rates.size() < kFewestRuns) && rates.size() < kMostRuns) {
    // An event's clock ticks every microsecond or less often.
    const double taken = std::max(gpu.Time(what, kRateLimit, work), 1e-6);
    rates.push_back(amount / taken / 1e9);
    if (Now() - last >= kBetweenRateProgress) {
      last = Now();
      const double share = seconds > 0 ? std::min((last - start) / seconds, 1.0) : 1;
      SayStep(kRateLimit, what);
      SayProgress(progress_from + share * (progress_to - progress_from), what);
    }
  }
  std::sort(rates.begin(), rates.end());
  return {.median = rates[rates.size() / 2],
          .min = rates.front(),
          .max = rates.back(),
          .runs = rates.size()};
}

// The processors beside a PCI device, as "0-31,64-95"; none when the kernel does not say.
bool RunBeside(const std::string& address) {
  std::ifstream file("/sys/bus/pci/devices/" + address + "/local_cpulist");
  std::string list;
  if (!std::getline(file, list) || list.empty()) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    std::istringstream text(range);
    unsigned first = 0;
    unsigned last = 0;
    char dash = 0;
    if (!(text >> first)) return false;
    if (!(text >> dash >> last)) last = first;
    for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
  }
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

}  // namespace

void TestGemm(const Options& options) {
  const double seconds = options.Number("seconds");
  const unsigned size = std::max(128U, options.Count("size") / 128 * 128);
  CudaApi api;
  LoadAndInit(api);
  Gpu gpu(api, options.Text("gpu"));
  const std::uint64_t bytes = std::uint64_t{size} * size * sizeof(float);
  const CuPointer a = gpu.Allocate(bytes);
  const CuPointer b = gpu.Allocate(bytes);
  const CuPointer c = gpu.Allocate(bytes);
  SayStep(kRateLimit, "random matrices");
  gpu.RandomMatrix(a, size * size, kSeedA);
  gpu.RandomMatrix(b, size * size, kSeedB);
  gpu.Wait("random matrices", kRateLimit);
  const double flops = 2.0 * size * size * size;
  const Rates rates =
      Measure(gpu, "matrix product", seconds, flops, [&] { gpu.Gemm(a, b, c, size); });
  SayStep(kRateLimit, "comparing the product");
  std::vector<float> product(std::size_t{size} * size);
  gpu.FromDevice(product.data(), c, bytes);
  gpu.Wait("comparing the product", kRateLimit);
  // A few of each 128 x 128 block's elements would take the processor long; a diagonal touches
  // every row and every column.
  unsigned wrong = 0;
  const unsigned step = std::max(1U, size / 256);
  for (unsigned row = 0; row < size; row += step) {
    const unsigned column = (row * 7 + 3) % size;
    const float expected = ExpectedProduct(row, column, size, kSeedA, kSeedB);
    if (FloatBits(product[std::size_t{row} * size + column]) != FloatBits(expected)) ++wrong;
  }
  Say("@result", {{"tflops", Text(rates.median / 1e3)},
                  {"tflops_min", Text(rates.min / 1e3)},
                  {"tflops_max", Text(rates.max / 1e3)},
                  {"runs", std::to_string(rates.runs)},
                  {"wrong", std::to_string(wrong)},
                  {"size", std::to_string(size)}});
}

void TestDeviceMemoryRate(const Options& options) {
  const double seconds = options.Number("seconds");
  CudaApi api;
  LoadAndInit(api);
  Gpu gpu(api, options.Text("gpu"));
  const std::uint64_t bytes = options.Count("mib") * kMiB;
  const CuPointer from = gpu.Allocate(bytes);
  const CuPointer to = gpu.Allocate(bytes);
  SayStep(kRateLimit, "filling the source");
  gpu.WritePattern(from, bytes, kRandom, kSeedA, from);
  gpu.Wait("filling the source", kRateLimit);
  const Rates rates =
      Measure(gpu, "copy within device memory", seconds, 2.0 * static_cast<double>(bytes),
              [&] { gpu.OnDevice(to, from, bytes); });
  Say("@result", {{"gb_s", Text(rates.median)},
                  {"gb_s_min", Text(rates.min)},
                  {"gb_s_max", Text(rates.max)},
                  {"runs", std::to_string(rates.runs)},
                  {"mib", Text(bytes / kMiB)}});
}

void TestHostRate(const Options& options) {
  const double seconds = options.Number("seconds");
  const std::string address = options.Text("gpu");
  CudaApi api;
  LoadAndInit(api);
  // Pinned memory comes from the node of the thread that asks for it.
  const bool beside = RunBeside(address);
  Gpu gpu(api, address);
  const std::uint64_t bytes = options.Count("mib") * kMiB;
  auto* const there = static_cast<unsigned*>(gpu.AllocatePinned(bytes));
  auto* const back = static_cast<unsigned*>(gpu.AllocatePinned(bytes));
  const CuPointer device = gpu.Allocate(bytes);
  for (std::uint64_t i = 0; i < bytes / sizeof(unsigned); ++i) {
    there[i] = RandomWord(static_cast<unsigned>(i), kSeedA);
  }
  std::memset(back, 0, bytes);
  const auto amount = static_cast<double>(bytes);
  const Rates h2d = Measure(
      gpu, "copy to the GPU", seconds, amount, [&] { gpu.ToDevice(device, there, bytes); }, 0, 0.5);
  const Rates d2h = Measure(
      gpu, "copy from the GPU", seconds, amount, [&] { gpu.FromDevice(back, device, bytes); }, 0.5,
      1);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < bytes / sizeof(unsigned); ++i) {
    if (there[i] != back[i]) wrong += sizeof(unsigned);
  }
  Say("@result", {{"h2d_gb_s", Text(h2d.median)},
                  {"h2d_gb_s_min", Text(h2d.min)},
                  {"d2h_gb_s", Text(d2h.median)},
                  {"d2h_gb_s_min", Text(d2h.min)},
                  {"wrong_bytes", Text(wrong)},
                  {"mib", Text(bytes / kMiB)},
                  {"beside", beside ? "1" : "0"}});
}

}  // namespace galen::node::cuda
