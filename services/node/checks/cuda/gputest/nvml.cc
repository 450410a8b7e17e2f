#include "services/node/checks/cuda/gputest/nvml.h"

#include <dlfcn.h>

namespace galen::node::cuda {
namespace {

constexpr int kSmClock = 1;           // NVML_CLOCK_SM
constexpr int kGpuTemperature = 0;    // NVML_TEMPERATURE_GPU
constexpr double kMilliwatts = 1000;  // NVML tells power in these

template <typename Function>
void Find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

}  // namespace

PowerMeter::PowerMeter(const std::string& address) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  int (*init)() = nullptr;
  int (*find)(const char*, Handle*) = nullptr;
  Find(library, "nvmlInit_v2", init);
  Find(library, "nvmlDeviceGetHandleByPciBusId_v2", find);
  if (init == nullptr || find == nullptr || init() != 0) return;
  if (find(address.c_str(), &device_) != 0) device_ = nullptr;
  Find(library, "nvmlDeviceGetPowerUsage", power_);
  Find(library, "nvmlDeviceGetEnforcedPowerLimit", limit_);
  Find(library, "nvmlDeviceGetClockInfo", clock_);
  Find(library, "nvmlDeviceGetTemperature", temperature_);
}

PowerMeter::Reading PowerMeter::Read() const {
  Reading reading;
  if (device_ == nullptr) return reading;
  unsigned value = 0;
  if (power_ != nullptr && power_(device_, &value) == 0) reading.power = value / kMilliwatts;
  if (limit_ != nullptr && limit_(device_, &value) == 0) reading.limit = value / kMilliwatts;
  if (clock_ != nullptr && clock_(device_, kSmClock, &value) == 0) reading.clock = value;
  if (temperature_ != nullptr && temperature_(device_, kGpuTemperature, &value) == 0) {
    reading.temperature = value;
  }
  return reading;
}

}  // namespace galen::node::cuda
