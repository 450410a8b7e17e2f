#ifndef SERVICES_NODE_CHECKS_CUDA_GPUTEST_NVML_H_
#define SERVICES_NODE_CHECKS_CUDA_GPUTEST_NVML_H_

#include <optional>
#include <string>

namespace galen::node::cuda {

// Power and clocks of one GPU while it works, by NVML; declared by ourselves, as the driver API.
class PowerMeter {
 public:
  // A meter that reads nothing when the library is missing or does not know the GPU.
  explicit PowerMeter(const std::string& address);

  // Missing: the driver does not tell.
  struct Reading {
    std::optional<double> power;        // W
    std::optional<double> limit;        // W, enforced now
    std::optional<double> clock;        // MHz, of the SMs
    std::optional<double> temperature;  // C
  };
  Reading Read() const;

 private:
  using Handle = struct NvmlDeviceTag*;

  Handle device_ = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*limit_)(Handle, unsigned*) = nullptr;
  int (*clock_)(Handle, int, unsigned*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
};

}  // namespace galen::node::cuda

#endif  // SERVICES_NODE_CHECKS_CUDA_GPUTEST_NVML_H_
