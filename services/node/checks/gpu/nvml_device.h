#ifndef SERVICES_NODE_CHECKS_GPU_NVML_DEVICE_H_
#define SERVICES_NODE_CHECKS_GPU_NVML_DEVICE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "services/node/checks/gpu/gpu_state.h"
#include "services/node/checks/gpu/nvml_library.h"

namespace galen::node::nvml {

// Queries one GPU. Records every answer; a refusal has no value, and a GPU that is lost is not
// queried again.
class DeviceReader {
 public:
  DeviceReader(const Api& api, Device device, Gpu& gpu, std::vector<GpuReading>& readings)
      : api_(api), device_(device), gpu_(gpu), readings_(readings) {}

  const Api& api() const { return api_; }
  Device device() const { return device_; }
  Gpu& gpu() { return gpu_; }

  // The answers below are noted under this section.
  void Begin(const char* section) { section_ = section; }

  // Calls `function` with the device and `arguments`; kFunctionNotFound where there is none.
  template <typename Signature, typename... Arguments>
  Return Call(const Function<Signature>& function, Arguments... arguments) {
    if (function.call == nullptr) return kFunctionNotFound;
    if (gpu_.lost) return kGpuIsLost;
    const Return code = function.call(device_, arguments...);
    if (code == kGpuIsLost) gpu_.lost = true;
    if (code == kResetRequired) gpu_.requires_reset = true;
    return code;
  }

  // A number or a structure, which the function writes last. `start` goes in before.
  template <typename Value, typename Signature, typename... Arguments>
  std::optional<Value> Ask(const Function<Signature>& function, Value start,
                           Arguments... arguments) {
    Value value = start;
    const Return code = Call(function, arguments..., &value);
    std::string note;
    if constexpr (std::is_integral_v<Value>) note = absl::StrCat(value);
    Note(function.name, code, note);
    if (code != kSuccess) return std::nullopt;
    return value;
  }

  template <typename Signature, typename... Arguments>
  std::optional<unsigned> Number(const Function<Signature>& function, Arguments... arguments) {
    return Ask<unsigned>(function, 0, arguments...);
  }

  // A text; "" when it is not reported or says that there is no value.
  std::string Text(const Function<Return(Device, char*, unsigned)>& function) {
    std::array<char, 128> buffer{};
    const Return code = Call(function, buffer.data(), static_cast<unsigned>(buffer.size() - 1));
    return Told(function.name, code, buffer.data());
  }
  std::string Text(const Function<Return(Device, char*)>& function) {
    // The caller is not asked how much it has room for; NVML promises 80 bytes.
    std::array<char, 1024> buffer{};
    const Return code = Call(function, buffer.data());
    return Told(function.name, code, buffer.data());
  }

  // One of the fields that have no function of their own.
  std::optional<double> Field(unsigned field, unsigned scope = 0);

  void Note(absl::string_view name, Return code, absl::string_view value);

 private:
  std::string Told(const char* name, Return code, const char* text) {
    const std::string told = code == kSuccess ? CleanText(text, 128) : "";
    Note(name, code, told);
    return SaysNothing(told) ? "" : told;
  }

  const Api& api_;
  Device device_;
  Gpu& gpu_;
  std::vector<GpuReading>& readings_;
  const char* section_ = "";
};

}  // namespace galen::node::nvml

#endif  // SERVICES_NODE_CHECKS_GPU_NVML_DEVICE_H_
