#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_CUDA_API_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_CUDA_API_H_

#include <cstddef>
#include <cstdint>
#include <string>

// The part of the CUDA driver API that the tests use, declared by ourselves: neither CUDA nor its
// headers are needed to build. Names, types and codes as documented by NVIDIA (CUDA Driver API,
// "Data types used by CUDA driver"); `_v2` is the name under which the library has had a function
// since CUDA 3.2 or 4.0.
namespace galen::node::cuda {

using CuDevice = int;
using CuPointer = std::uint64_t;
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;

// CUresult; only those that decide something.
enum CuResult : int {
  kCudaSuccess = 0,
  kCudaOutOfMemory = 2,
  kCudaDeviceUnavailable = 46,  // another process has it to itself
  kCudaNoDevice = 100,
  kCudaInvalidPtx = 218,
  kCudaPeerAccessAlreadyEnabled = 704,
  kCudaNotReady = 600,
};

// CUdevice_attribute.
inline constexpr int kAttributeSms = 16;
inline constexpr int kAttributeMajor = 75;
inline constexpr int kAttributeMinor = 76;

#define GALEN_CUDA_FUNCTIONS(F)                                                                \
  F(Init, "cuInit", (unsigned flags))                                                          \
  F(DriverGetVersion, "cuDriverGetVersion", (int* version))                                    \
  F(DeviceGetCount, "cuDeviceGetCount", (int* count))                                          \
  F(DeviceGet, "cuDeviceGet", (CuDevice * device, int ordinal))                                \
  F(DeviceGetByPCIBusId, "cuDeviceGetByPCIBusId", (CuDevice * device, const char* address))    \
  F(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char* address, int length, CuDevice device))    \
  F(DeviceGetName, "cuDeviceGetName", (char* name, int length, CuDevice device))               \
  F(DeviceGetAttribute, "cuDeviceGetAttribute", (int* value, int attribute, CuDevice device))  \
  F(DeviceTotalMem, "cuDeviceTotalMem_v2", (std::size_t * bytes, CuDevice device))             \
  F(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int* can, CuDevice device, CuDevice peer))  \
  F(CtxCreate, "cuCtxCreate_v2", (CuContext * context, unsigned flags, CuDevice device))       \
  F(CtxDestroy, "cuCtxDestroy_v2", (CuContext context))                                        \
  F(CtxSetCurrent, "cuCtxSetCurrent", (CuContext context))                                     \
  F(CtxEnablePeerAccess, "cuCtxEnablePeerAccess", (CuContext peer, unsigned flags))            \
  F(CtxDisablePeerAccess, "cuCtxDisablePeerAccess", (CuContext peer))                          \
  F(ModuleLoadData, "cuModuleLoadData", (CuModule * module, const void* image))                \
  F(ModuleGetFunction, "cuModuleGetFunction",                                                  \
    (CuFunction * function, CuModule module, const char* name))                                \
  F(LaunchKernel, "cuLaunchKernel",                                                            \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream,               \
     void** parameters, void** extra))                                                         \
  F(MemGetInfo, "cuMemGetInfo_v2", (std::size_t * free, std::size_t * total))                  \
  F(MemAlloc, "cuMemAlloc_v2", (CuPointer * pointer, std::size_t bytes))                       \
  F(MemFree, "cuMemFree_v2", (CuPointer pointer))                                              \
  F(MemHostAlloc, "cuMemHostAlloc", (void** pointer, std::size_t bytes, unsigned flags))       \
  F(MemFreeHost, "cuMemFreeHost", (void* pointer))                                             \
  F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                   \
    (CuPointer to, const void* from, std::size_t bytes, CuStream stream))                      \
  F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                   \
    (void* to, CuPointer from, std::size_t bytes, CuStream stream))                            \
  F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                   \
    (CuPointer to, CuPointer from, std::size_t bytes, CuStream stream))                        \
  F(MemcpyPeerAsync, "cuMemcpyPeerAsync",                                                      \
    (CuPointer to, CuContext to_context, CuPointer from, CuContext from_context,               \
     std::size_t bytes, CuStream stream))                                                      \
  F(StreamCreate, "cuStreamCreate", (CuStream * stream, unsigned flags))                       \
  F(EventCreate, "cuEventCreate", (CuEvent * event, unsigned flags))                           \
  F(EventRecord, "cuEventRecord", (CuEvent event, CuStream stream))                            \
  F(EventQuery, "cuEventQuery", (CuEvent event))                                               \
  F(EventElapsedTime, "cuEventElapsedTime", (float* milliseconds, CuEvent start, CuEvent end)) \
  F(EventDestroy, "cuEventDestroy_v2", (CuEvent event))                                        \
  F(GetErrorName, "cuGetErrorName", (int code, const char** name))                             \
  F(GetErrorString, "cuGetErrorString", (int code, const char** text))

// The functions of one loaded driver library.
struct CudaApi {
#define GALEN_DECLARE(member, symbol, parameters) int(*member) parameters = nullptr;
  GALEN_CUDA_FUNCTIONS(GALEN_DECLARE)
#undef GALEN_DECLARE
  // The file that the library was loaded from.
  std::string library;

  // Loads `name` the way every CUDA program does. False, and why in `error`, when there is none or
  // it lacks a function. The library stays loaded.
  bool Load(const char* name, std::string& error);
};

// "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered", or "error 214" when the
// library does not say.
std::string ErrorText(const CudaApi& api, int code);

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_CUDA_API_H_
