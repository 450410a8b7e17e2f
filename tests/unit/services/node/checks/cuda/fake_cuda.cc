// A libcuda.so.1 that carries the driver's calls out on this machine's memory, so that the tests go
// the whole way: dlopen, PTX, launches, copies. What it does wrong is scripted (fake_script.h). Its
// kernels are written anew here, after what the .cu files say that they do; only the words of
// patterns and the steps of a lane are theirs.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "services/node/checks/cuda/gputest/kernel_math.h"
#include "tests/unit/services/node/checks/cuda/fake_script.h"
#include "tests/unit/services/node/checks/cuda/ptx_text.h"

namespace galen::fake {
namespace {

using namespace galen::node::cuda;  // NOLINT(google-build-using-namespace)

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNotInitialized = 3;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidPtx = 218;
constexpr int kNotFound = 500;
constexpr int kIllegalAddress = 700;
constexpr int kPeerAlreadyEnabled = 704;
constexpr int kUnknown = 999;

struct Device {
  int number = 0;
  unsigned char* arena = nullptr;
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, std::uint64_t> used;  // offset: bytes
  double clock = 0;                             // seconds of work done
};

struct Context {
  int device = 0;
  std::set<Context*> peers;
};

struct Function {
  std::string name;
  std::vector<std::size_t> parameters;
};

struct Module {
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Event {
  double at = 0;
};

class Driver {
 public:
  Driver() : script_(ReadScript()), fault_counts_(script_.faults.size(), 0) {
    for (unsigned i = 0; i < script_.gpus; ++i) {
      Device device;
      device.number = static_cast<int>(i);
      device.bytes = script_.mib << 20;
      void* const memory = mmap(nullptr, device.bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      device.arena = static_cast<unsigned char*>(memory);
      devices_.push_back(device);
    }
  }

  // What a process leaves behind when it returns from main: nothing, it is hoped.
  ~Driver() {
    if (script_.log.empty()) return;
    std::size_t allocations = 0;
    for (const Device& device : devices_) allocations += device.used.size();
    std::ofstream log(script_.log, std::ios::app);
    log << "left " << allocations << " allocations " << pinned_.size() << " pinned "
        << contexts_.size() << " contexts\n";
  }

  const Script& script() const { return script_; }

  // What the script has this call do; does not come back from one that hangs.
  int Enter(const char* call, int gpu) {
    for (std::size_t i = 0; i < script_.faults.size(); ++i) {
      const CallFault& fault = script_.faults[i];
      if (fault.call != call || (fault.gpu >= 0 && fault.gpu != gpu)) continue;
      if (fault_counts_[i]++ < fault.after) continue;
      while (fault.code < 0) pause();
      return fault.code;
    }
    if (gpu >= 0 && gpu == script_.overload_gpu && access(LostMark().c_str(), F_OK) == 0) {
      return kUnknown;
    }
    if (!initialized && std::strcmp(call, "cuInit") != 0) return kNotInitialized;
    return 0;
  }
  int Enter(const char* call) { return Enter(call, current == nullptr ? -1 : current->device); }

  Device* Find(int number) {
    return number >= 0 && number < static_cast<int>(devices_.size()) ? &devices_[number] : nullptr;
  }
  Device& Current() { return devices_[current->device]; }

  // The device whose memory all of [pointer, pointer + bytes) is allocated; nullptr when it is not.
  Device* Owner(std::uint64_t pointer, std::uint64_t bytes) {
    for (Device& device : devices_) {
      const auto base = reinterpret_cast<std::uint64_t>(device.arena);
      if (pointer < base || pointer + bytes > base + device.bytes) continue;
      for (const auto& [offset, size] : device.used) {
        if (pointer >= base + offset && pointer + bytes <= base + offset + size) return &device;
      }
    }
    return nullptr;
  }

  // Counts a launch against what the GPU bears.
  void Burden(int gpu) {
    if (gpu != script_.overload_gpu) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_launch_ >= std::chrono::milliseconds(1)) launches_without_rest_ = 0;
    last_launch_ = now;
    if (++launches_without_rest_ > script_.overload_launches) std::ofstream(LostMark()) << "lost";
  }

  // Bits that do not take what is written.
  void Stick(Device& device) {
    ++writes;
    for (const StuckBit& stuck : script_.stuck) {
      if (stuck.gpu != device.number || stuck.offset + 4 > device.bytes) continue;
      auto* const word = reinterpret_cast<unsigned*>(device.arena + stuck.offset / 4 * 4);
      *word = stuck.value != 0 ? *word | (1U << stuck.bit) : *word & ~(1U << stuck.bit);
    }
  }

  bool initialized = false;
  Context* current = nullptr;
  std::set<void*> pinned_;
  std::set<Context*> contexts_;
  std::uint64_t writes = 0;

 private:
  std::string LostMark() const { return script_.path + ".lost"; }

  const Script script_;
  std::chrono::steady_clock::time_point last_launch_;
  std::uint64_t launches_without_rest_ = 0;
  std::vector<std::uint64_t> fault_counts_;
  std::vector<Device> devices_;
};

Driver& TheDriver() {
  static Driver driver;
  return driver;
}

// Arguments of a launch, one after the other.
class Arguments {
 public:
  Arguments(const Function& function, void** values) : function_(function), values_(values) {}
  template <typename T>
  T Next() {
    T value = {};
    if (next_ < function_.parameters.size() && function_.parameters[next_] == sizeof(T)) {
      std::memcpy(&value, values_[next_], sizeof(T));
    } else {
      wrong_ = true;
    }
    ++next_;
    return value;
  }
  // Whether the kernel takes just these, by its PTX.
  bool right() const { return !wrong_ && next_ == function_.parameters.size(); }

 private:
  const Function& function_;
  void** values_;
  std::size_t next_ = 0;
  bool wrong_ = false;
};

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

}  // namespace
}  // namespace galen::fake

using namespace galen::fake;  // NOLINT(google-build-using-namespace)

#define ENTER(call)             \
  Driver& driver = TheDriver(); \
  if (const int galen_code = driver.Enter(call); galen_code != 0) return galen_code
#define ENTER_GPU(call, gpu)    \
  Driver& driver = TheDriver(); \
  if (const int galen_code = driver.Enter(call, gpu); galen_code != 0) return galen_code

extern "C" {

int cuInit(unsigned flags) {
  ENTER("cuInit");
  if (flags != 0) return kInvalidValue;
  if (driver.script().gpus == 0) return kNoDevice;
  driver.initialized = true;
  return 0;
}

int cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = 12040;
  return 0;
}

int cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = static_cast<int>(driver.script().gpus);
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  ENTER_GPU("cuDeviceGet", ordinal);
  if (driver.Find(ordinal) == nullptr) return kInvalidDevice;
  *device = ordinal;
  return 0;
}

int cuDeviceGetPCIBusId(char* address, int length, int device) {
  ENTER_GPU("cuDeviceGetPCIBusId", device);
  if (driver.Find(device) == nullptr) return kInvalidDevice;
  std::snprintf(address, static_cast<std::size_t>(length), "0000:%02X:00.0", 0x10 + device);
  return 0;
}

int cuDeviceGetByPCIBusId(int* device, const char* address) {
  unsigned domain = 0;
  unsigned bus = 0;
  if (std::sscanf(address, "%x:%x", &domain, &bus) != 2) return kInvalidValue;
  const int number = static_cast<int>(bus) - 0x10;
  ENTER_GPU("cuDeviceGetByPCIBusId", number);
  if (driver.Find(number) == nullptr) return kInvalidDevice;
  *device = number;
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  ENTER_GPU("cuDeviceGetName", device);
  std::snprintf(name, static_cast<std::size_t>(length), "%s", driver.script().name.c_str());
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER_GPU("cuDeviceGetAttribute", device);
  if (attribute == 16) {
    *value = static_cast<int>(driver.script().sms);
  } else if (attribute == 75) {
    *value = 8;
  } else if (attribute == 76) {
    *value = 0;
  } else {
    return kInvalidValue;
  }
  return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  ENTER_GPU("cuDeviceTotalMem", device);
  *bytes = driver.Find(device)->bytes;
  return 0;
}

int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  ENTER_GPU("cuDeviceCanAccessPeer", device);
  const BadPair* const pair = driver.script().PairOf(device, peer);
  *can = pair != nullptr && pair->what == "noaccess" ? 0 : 1;
  return 0;
}

int cuCtxCreate_v2(Context** context, unsigned, int device) {
  ENTER_GPU("cuCtxCreate", device);
  if (driver.Find(device) == nullptr) return kInvalidDevice;
  *context = new Context{.device = device, .peers = {}};
  driver.contexts_.insert(*context);
  driver.current = *context;
  return 0;
}

int cuCtxDestroy_v2(Context* context) {
  ENTER_GPU("cuCtxDestroy", context->device);
  driver.contexts_.erase(context);
  if (driver.current == context) driver.current = nullptr;
  delete context;
  return 0;
}

int cuCtxSetCurrent(Context* context) {
  ENTER_GPU("cuCtxSetCurrent", context->device);
  driver.current = context;
  return 0;
}

int cuCtxEnablePeerAccess(Context* peer, unsigned) {
  ENTER("cuCtxEnablePeerAccess");
  return driver.current->peers.insert(peer).second ? 0 : kPeerAlreadyEnabled;
}

int cuModuleLoadData(Module** module, const void* image) {
  ENTER("cuModuleLoadData");
  const PtxModule ptx = ReadPtx(static_cast<const char*>(image));
  if (!ptx.fault.empty() || ptx.target != "sm_70") return kInvalidPtx;
  auto* const made = new Module;
  for (const PtxEntry& entry : ptx.entries) {
    if (entry.name == "galen_tensor" && driver.script().no_tensor) return kInvalidPtx;
    made->functions[entry.name] =
        std::make_unique<Function>(Function{entry.name, entry.parameters});
  }
  *module = made;
  return 0;
}

int cuModuleGetFunction(Function** function, Module* module, const char* name) {
  ENTER("cuModuleGetFunction");
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) return kNotFound;
  *function = found->second.get();
  return 0;
}

int cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned, void*,
                   void** parameters, void**) {
  ENTER("cuLaunchKernel");
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x != kLanes || block_y != 1 ||
      block_z != 1) {
    return kInvalidValue;
  }
  driver.Burden(driver.current->device);
  return Launch(driver, *function, grid_x, parameters);
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER("cuMemGetInfo");
  const Device& device = driver.Current();
  *free = device.bytes;
  for (const auto& [offset, bytes] : device.used) *free -= bytes;
  *total = device.bytes;
  return 0;
}

int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  ENTER("cuMemAlloc");
  Device& device = driver.Current();
  constexpr std::uint64_t kAlign = 256;
  const std::uint64_t wanted = (bytes + kAlign - 1) / kAlign * kAlign;
  std::uint64_t at = 0;
  for (const auto& [offset, size] : device.used) {
    if (offset - at >= wanted) break;
    at = offset + size;
  }
  if (bytes == 0) return kInvalidValue;
  if (at + wanted > device.bytes) return kOutOfMemory;
  device.used[at] = wanted;
  *pointer = reinterpret_cast<std::uint64_t>(device.arena) + at;
  return 0;
}

int cuMemFree_v2(std::uint64_t pointer) {
  ENTER("cuMemFree");
  Device& device = driver.Current();
  return device.used.erase(pointer - reinterpret_cast<std::uint64_t>(device.arena)) == 1
             ? 0
             : kInvalidValue;
}

int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  *pointer = ::operator new(bytes);
  driver.pinned_.insert(*pointer);
  return 0;
}

int cuMemFreeHost(void* pointer) {
  ENTER("cuMemFreeHost");
  if (driver.pinned_.erase(pointer) == 0) return kInvalidValue;
  ::operator delete(pointer);
  return 0;
}

int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void*) {
  ENTER("cuMemcpyHtoDAsync");
  Device* const device = driver.Owner(to, bytes);
  if (device == nullptr) return kInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  device->clock += static_cast<double>(bytes) /
                   (driver.script().h2d * 1e9 * driver.script().Factor(device->number, "h2d"));
  driver.Stick(*device);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void*) {
  ENTER("cuMemcpyDtoHAsync");
  Device* const device = driver.Owner(from, bytes);
  if (device == nullptr) return kInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  device->clock += static_cast<double>(bytes) /
                   (driver.script().d2h * 1e9 * driver.script().Factor(device->number, "d2h"));
  return 0;
}

int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void*) {
  ENTER("cuMemcpyDtoDAsync");
  Device* const device = driver.Owner(to, bytes);
  if (device == nullptr || driver.Owner(from, bytes) != device) return kInvalidValue;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  device->clock +=
      2 * static_cast<double>(bytes) /
      (driver.script().memory * 1e9 * driver.script().Factor(device->number, "memory"));
  driver.Stick(*device);
  return 0;
}

int cuMemcpyPeerAsync(std::uint64_t to, Context* to_context, std::uint64_t from,
                      Context* from_context, std::size_t bytes, void*) {
  ENTER("cuMemcpyPeerAsync");
  Device* const target = driver.Owner(to, bytes);
  Device* const source = driver.Owner(from, bytes);
  if (target != driver.Find(to_context->device) || source != driver.Find(from_context->device)) {
    return kInvalidValue;
  }
  const BadPair* const pair = driver.script().PairOf(source->number, target->number);
  const std::string what = pair == nullptr ? "" : pair->what;
  while (what == "hang") pause();
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  if (what == "corrupt") *reinterpret_cast<unsigned*>(to + bytes / 8 * 4) ^= 0x10;
  const double slow = what == "slow" ? 0.25 : what == "noaccess" ? 0.1 : 1;
  source->clock += static_cast<double>(bytes) / (driver.script().peer * 1e9 * slow);
  driver.Stick(*target);
  return 0;
}

int cuStreamCreate(void** stream, unsigned) {
  ENTER("cuStreamCreate");
  *stream = nullptr;
  return 0;
}

int cuEventCreate(Event** event, unsigned) {
  ENTER("cuEventCreate");
  *event = new Event;
  return 0;
}

int cuEventRecord(Event* event, void*) {
  ENTER("cuEventRecord");
  event->at = driver.Current().clock;
  return 0;
}

int cuEventQuery(Event*) {
  ENTER("cuEventQuery");
  return 0;
}

int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  ENTER("cuEventElapsedTime");
  *milliseconds = static_cast<float>((end->at - start->at) * 1e3);
  return 0;
}

int cuEventDestroy_v2(Event* event) {
  ENTER("cuEventDestroy");
  delete event;
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  static const std::map<int, const char*> kNames = {
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},       {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {100, "CUDA_ERROR_NO_DEVICE"},         {101, "CUDA_ERROR_INVALID_DEVICE"},
      {214, "CUDA_ERROR_ECC_UNCORRECTABLE"}, {218, "CUDA_ERROR_INVALID_PTX"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},   {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {802, "CUDA_ERROR_SYSTEM_NOT_READY"},  {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = kNames.find(code);
  *name = found == kNames.end() ? nullptr : found->second;
  return found == kNames.end() ? kInvalidValue : 0;
}

int cuGetErrorString(int code, const char** text) {
  *text = code == 214 ? "uncorrectable ECC error encountered" : nullptr;
  return *text == nullptr ? kInvalidValue : 0;
}

}  // extern "C"
