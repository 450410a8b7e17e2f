#include "services/node/checks/cuda/gputest/gpu.h"

#include <unistd.h>

#include <chrono>

#include "services/node/checks/cuda/gputest/ptx.h"
#include "services/node/checks/cuda/gputest/report.h"

namespace galen::node::cuda {
namespace {

constexpr unsigned kThreads = kLanes;
// Blocks for each SM of kernels that stride over memory.
constexpr unsigned kBlocksPerSmOfPattern = 8;
constexpr useconds_t kPoll = 100;        // microseconds
constexpr unsigned kNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
constexpr unsigned kPortablePinned = 1;  // CU_MEMHOSTALLOC_PORTABLE

// Seconds that calls may take at most on a healthy machine. A context on a machine of 16 GPUs
// without persistence mode takes 10 to 20; compiling the kernels, one.
constexpr double kInitLimit = 60;
constexpr double kContextLimit = 60;
constexpr double kModuleLimit = 60;

// The kernels are built for sm_70.
constexpr int kLeastMajor = 7;

}  // namespace

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void LoadAndInit(CudaApi& api) {
  std::string error;
  SayStep(kInitLimit, "cuInit");
  if (!api.Load("libcuda.so.1", error)) SayRefusedAndExit(error);
  const int code = api.Init(0);
  if (code != kCudaSuccess) SayErrorAndExit("cuInit", code, ErrorText(api, code));
}

void Gpu::Require(const char* call, int code) const {
  if (code != kCudaSuccess) SayErrorAndExit(call, code, ErrorText(api_, code));
}

Gpu::Gpu(const CudaApi& api, const std::string& address) : api_(api) {
  Require("cuDeviceGetByPCIBusId", api_.DeviceGetByPCIBusId(&device_, address.c_str()));
  int sms = 0;
  Require("cuDeviceGetAttribute", api_.DeviceGetAttribute(&sms, kAttributeSms, device_));
  sms_ = sms > 0 ? static_cast<unsigned>(sms) : 1;
  int major = 0;
  Require("cuDeviceGetAttribute", api_.DeviceGetAttribute(&major, kAttributeMajor, device_));
  // On an older GPU the driver would call the kernels invalid, although the GPU is sound.
  if (major < kLeastMajor) SayRefusedAndExit("older than Volta: the kernels need capability 7.0");
  SayStep(kContextLimit, "cuCtxCreate");
  Require("cuCtxCreate", api_.CtxCreate(&context_, 0, device_));
  SayStep(kModuleLimit, "cuModuleLoadData");
  CuModule module = nullptr;
  Require("cuModuleLoadData", api_.ModuleLoadData(&module, kKernelsPtx));
  hello_ = Find(module, "galen_hello");
  write_ = Find(module, "galen_write");
  check_ = Find(module, "galen_check");
  compute_ = Find(module, "galen_compute");
  random_matrix_ = Find(module, "galen_random_matrix");
  gemm_ = Find(module, "galen_gemm");
  CuModule tensor = nullptr;
  const int code = api_.ModuleLoadData(&tensor, kTensorPtx);
  if (code == kCudaSuccess) {
    tensor_ = Find(tensor, "galen_tensor");
  } else {
    tensor_trouble_ = ErrorText(api_, code);
  }
  Require("cuStreamCreate", api_.StreamCreate(&stream_, kNonBlocking));
  Require("cuEventCreate", api_.EventCreate(&start_, 0));
  Require("cuEventCreate", api_.EventCreate(&end_, 0));
}

Gpu::~Gpu() {
  MakeCurrent();
  for (const CuPointer memory : memory_) api_.MemFree(memory);
  for (void* const memory : pinned_) api_.MemFreeHost(memory);
  api_.EventDestroy(start_);
  api_.EventDestroy(end_);
  api_.CtxDestroy(context_);
}

CuFunction Gpu::Find(CuModule module, const char* kernel) {
  CuFunction function = nullptr;
  Require("cuModuleGetFunction", api_.ModuleGetFunction(&function, module, kernel));
  return function;
}

void Gpu::MakeCurrent() { Require("cuCtxSetCurrent", api_.CtxSetCurrent(context_)); }

std::pair<std::uint64_t, std::uint64_t> Gpu::Memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  Require("cuMemGetInfo", api_.MemGetInfo(&free, &total));
  return {free, total};
}

CuPointer Gpu::TryAllocate(std::uint64_t bytes) {
  CuPointer pointer = 0;
  const int code = api_.MemAlloc(&pointer, bytes);
  if (code == kCudaOutOfMemory) return 0;
  Require("cuMemAlloc", code);
  memory_.push_back(pointer);
  return pointer;
}

CuPointer Gpu::Allocate(std::uint64_t bytes) {
  const CuPointer pointer = TryAllocate(bytes);
  if (pointer == 0) {
    SayRefusedAndExit("no room for " + std::to_string(bytes >> 20) + " MiB on the GPU");
  }
  return pointer;
}

void* Gpu::AllocatePinned(std::uint64_t bytes) {
  void* pointer = nullptr;
  const int code = api_.MemHostAlloc(&pointer, bytes, kPortablePinned);
  if (code == kCudaOutOfMemory) {
    SayRefusedAndExit("no room for " + std::to_string(bytes >> 20) + " MiB of pinned memory");
  }
  Require("cuMemHostAlloc", code);
  pinned_.push_back(pointer);
  return pointer;
}

void Gpu::Launch(CuFunction kernel, unsigned blocks, std::vector<void*> parameters) {
  Require("cuLaunchKernel", api_.LaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream_,
                                              parameters.data(), nullptr));
}

void Gpu::Hello(CuPointer out, unsigned value) { Launch(hello_, 1, {&out, &value}); }

void Gpu::WritePattern(CuPointer memory, std::uint64_t bytes, unsigned pattern, unsigned seed,
                       CuPointer origin) {
  std::uint64_t vectors = bytes / 16;
  Launch(write_, sms_ * kBlocksPerSmOfPattern, {&memory, &vectors, &pattern, &seed, &origin});
}

void Gpu::CheckPattern(CuPointer memory, std::uint64_t bytes, unsigned pattern, unsigned seed,
                       CuPointer origin, bool invert, CuPointer found) {
  std::uint64_t vectors = bytes / 16;
  unsigned inverts = invert ? 1 : 0;
  Launch(check_, sms_ * kBlocksPerSmOfPattern,
         {&memory, &vectors, &pattern, &seed, &origin, &inverts, &found});
}

void Gpu::Compute(unsigned seed, unsigned rounds, unsigned blocks, CuPointer results) {
  Launch(compute_, blocks, {&seed, &rounds, &results});
}

void Gpu::Tensor(CuPointer a, CuPointer b, unsigned rounds, unsigned blocks, CuPointer results) {
  Launch(tensor_, blocks, {&a, &b, &rounds, &results});
}

void Gpu::RandomMatrix(CuPointer matrix, unsigned elements, unsigned seed) {
  Launch(random_matrix_, sms_ * kBlocksPerSmOfPattern, {&matrix, &elements, &seed});
}

void Gpu::Gemm(CuPointer a, CuPointer b, CuPointer c, unsigned size) {
  constexpr unsigned kBlock = 128;  // as galen_gemm
  const unsigned blocks = size / kBlock;
  Launch(gemm_, blocks * blocks, {&a, &b, &c, &size});
}

void Gpu::ToDevice(CuPointer to, const void* from, std::uint64_t bytes) {
  Require("cuMemcpyHtoDAsync", api_.MemcpyHtoDAsync(to, from, bytes, stream_));
}

void Gpu::FromDevice(void* to, CuPointer from, std::uint64_t bytes) {
  Require("cuMemcpyDtoHAsync", api_.MemcpyDtoHAsync(to, from, bytes, stream_));
}

void Gpu::OnDevice(CuPointer to, CuPointer from, std::uint64_t bytes) {
  Require("cuMemcpyDtoDAsync", api_.MemcpyDtoDAsync(to, from, bytes, stream_));
}

void Gpu::Wait(const std::string& what, double limit, const std::function<void()>& meanwhile) {
  Require("cuEventRecord", api_.EventRecord(end_, stream_));
  const double give_up = Now() + limit * Patience();
  while (true) {
    // Never a call that blocks until the GPU is done: that one would hang with it.
    const int code = api_.EventQuery(end_);
    if (code == kCudaSuccess) return;
    if (code != kCudaNotReady) Require(what.c_str(), code);
    if (Now() > give_up) SayHungAndExit(what);
    if (meanwhile) meanwhile();
    usleep(kPoll);
  }
}

double Gpu::Time(const std::string& what, double limit, const std::function<void()>& work) {
  Require("cuEventRecord", api_.EventRecord(start_, stream_));
  work();
  Wait(what, limit);
  float milliseconds = 0;
  Require("cuEventElapsedTime", api_.EventElapsedTime(&milliseconds, start_, end_));
  return static_cast<double>(milliseconds) / 1e3;
}

}  // namespace galen::node::cuda
