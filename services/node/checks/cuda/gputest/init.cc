#include <array>
#include <cstdint>
#include <vector>

#include "services/node/checks/cuda/gputest/gpu.h"
#include "services/node/checks/cuda/gputest/report.h"
#include "services/node/checks/cuda/gputest/tests.h"

namespace galen::node::cuda {
namespace {

constexpr double kKernelLimit = 20;

}  // namespace

void ListGpus(const Options&) {
  CudaApi api;
  LoadAndInit(api);
  const auto require = [&api](const char* call, int code) {
    if (code != kCudaSuccess) SayErrorAndExit(call, code, ErrorText(api, code));
  };
  int version = 0;
  require("cuDriverGetVersion", api.DriverGetVersion(&version));
  Say("@driver", {{"version", std::to_string(version)}, {"library", api.library}});
  int count = 0;
  require("cuDeviceGetCount", api.DeviceGetCount(&count));
  for (int i = 0; i < count; ++i) {
    CuDevice device = 0;
    std::array<char, 32> address = {};
    std::array<char, 256> name = {};
    std::size_t memory = 0;
    int sms = 0;
    int major = 0;
    int minor = 0;
    require("cuDeviceGet", api.DeviceGet(&device, i));
    require("cuDeviceGetPCIBusId",
            api.DeviceGetPCIBusId(address.data(), static_cast<int>(address.size()) - 1, device));
    require("cuDeviceGetName",
            api.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device));
    require("cuDeviceTotalMem", api.DeviceTotalMem(&memory, device));
    require("cuDeviceGetAttribute", api.DeviceGetAttribute(&sms, kAttributeSms, device));
    require("cuDeviceGetAttribute", api.DeviceGetAttribute(&major, kAttributeMajor, device));
    require("cuDeviceGetAttribute", api.DeviceGetAttribute(&minor, kAttributeMinor, device));
    Say("@gpu", {{"index", std::to_string(i)},
                 {"address", address.data()},
                 {"name", name.data()},
                 {"memory", Text(std::uint64_t{memory})},
                 {"sms", std::to_string(sms)},
                 {"capability", std::to_string(major * 10 + minor)}});
  }
}

void TestInit(const Options& options) {
  CudaApi api;
  LoadAndInit(api);
  Gpu gpu(api, options.Text("gpu"));
  SayStep(kKernelLimit, "a kernel of one block");
  constexpr unsigned kValue = 0x600DC0DE;
  const CuPointer out = gpu.Allocate(sizeof(unsigned));
  unsigned answer = 0;
  gpu.Hello(out, kValue);
  gpu.FromDevice(&answer, out, sizeof(answer));
  gpu.Wait("a kernel of one block", kKernelLimit);
  Say("@result", {{"right", answer == (kValue ^ kHashStep) ? "1" : "0"}});
}

}  // namespace galen::node::cuda
