// A libcuda.so.1 that executes the driver's calls in this machine's memory, so that the tests cover
// the whole way: dlopen, PTX, launches, copies. Its faults are scripted (fake_script.h).
#include "tests/unit/services/node/checks/cuda/fake_machine.h"

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
    *value = driver.script().capability / 10;
  } else if (attribute == 76) {
    *value = driver.script().capability % 10;
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
  std::set<Context*>& peers = driver.current->peers;
  if (peers.count(peer) != 0) return kPeerAlreadyEnabled;
  if (peers.size() == kMostPeers) return kTooManyPeers;
  peers.insert(peer);
  return 0;
}

int cuCtxDisablePeerAccess(Context* peer) {
  ENTER("cuCtxDisablePeerAccess");
  return driver.current->peers.erase(peer) == 1 ? 0 : kPeerNotEnabled;
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
