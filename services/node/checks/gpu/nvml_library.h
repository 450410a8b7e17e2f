#ifndef SERVICES_NODE_CHECKS_GPU_NVML_LIBRARY_H_
#define SERVICES_NODE_CHECKS_GPU_NVML_LIBRARY_H_

#include <dlfcn.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/node/checks/gpu/nvml_abi.h"

namespace galen::node::nvml {

// A function of the library with its name. `call` is nullptr if the library is older or newer and
// lacks a function of that name.
template <typename Signature>
struct Function {
  Function(void* library, const char* symbol)
      : name(symbol), call(reinterpret_cast<Signature*>(dlsym(library, symbol))) {}

  const char* name;
  Signature* call;
};

// The functions in use, named after their results.
struct Api {
  explicit Api(void* loaded) : library(loaded) {}

  void* library;

  Function<Return()> init{library, "nvmlInit_v2"};
  Function<Return()> shutdown{library, "nvmlShutdown"};
  Function<const char*(Return)> error_string{library, "nvmlErrorString"};
  Function<Return(char*, unsigned)> driver_version{library, "nvmlSystemGetDriverVersion"};
  Function<Return(int*)> cuda_version{library, "nvmlSystemGetCudaDriverVersion_v2"};
  Function<Return(unsigned, char*, unsigned)> process_name{library, "nvmlSystemGetProcessName"};
  Function<Return(unsigned*)> count{library, "nvmlDeviceGetCount_v2"};
  Function<Return(unsigned, Device*)> handle{library, "nvmlDeviceGetHandleByIndex_v2"};

  Function<Return(Device, char*, unsigned)> name{library, "nvmlDeviceGetName"};
  Function<Return(Device, char*, unsigned)> uuid{library, "nvmlDeviceGetUUID"};
  Function<Return(Device, char*, unsigned)> serial{library, "nvmlDeviceGetSerial"};
  Function<Return(Device, char*, unsigned)> vbios{library, "nvmlDeviceGetVbiosVersion"};
  Function<Return(Device, char*, unsigned)> inforom_image{library,
                                                          "nvmlDeviceGetInforomImageVersion"};
  Function<Return(Device)> validate_inforom{library, "nvmlDeviceValidateInforom"};
  Function<Return(Device, char*)> gsp_version{library, "nvmlDeviceGetGspFirmwareVersion"};
  Function<Return(Device, PciInfo*)> pci{library, "nvmlDeviceGetPciInfo_v3"};
  Function<Return(Device, unsigned*)> architecture{library, "nvmlDeviceGetArchitecture"};
  Function<Return(Device, unsigned*)> virtualization{library, "nvmlDeviceGetVirtualizationMode"};
  Function<Return(Device, unsigned*)> performance_state{library, "nvmlDeviceGetPerformanceState"};
  Function<Return(Device, unsigned*)> compute_mode{library, "nvmlDeviceGetComputeMode"};
  Function<Return(Device, unsigned*)> persistence{library, "nvmlDeviceGetPersistenceMode"};
  Function<Return(Device, Utilization*)> utilization{library, "nvmlDeviceGetUtilizationRates"};
  Function<Return(Device, Memory*)> memory{library, "nvmlDeviceGetMemoryInfo"};
  Function<Return(Device, MemoryV2*)> memory_v2{library, "nvmlDeviceGetMemoryInfo_v2"};
  Function<Return(Device, Memory*)> bar1{library, "nvmlDeviceGetBAR1MemoryInfo"};

  Function<Return(Device, unsigned*, unsigned*)> ecc_mode{library, "nvmlDeviceGetEccMode"};
  Function<Return(Device, unsigned, unsigned, unsigned, unsigned long long*)> ecc_errors{
      library, "nvmlDeviceGetMemoryErrorCounter"};
  Function<Return(Device, EccSramStatus*)> ecc_sram{library, "nvmlDeviceGetSramEccErrorStatus"};
  Function<Return(Device, unsigned*, unsigned*, unsigned*, unsigned*)> remapped_rows{
      library, "nvmlDeviceGetRemappedRows"};
  Function<Return(Device, RowRemapperHistogram*)> row_histogram{
      library, "nvmlDeviceGetRowRemapperHistogram"};
  Function<Return(Device, unsigned, unsigned*, unsigned long long*)> retired_pages{
      library, "nvmlDeviceGetRetiredPages"};
  Function<Return(Device, unsigned*)> retirement_pending{library,
                                                         "nvmlDeviceGetRetiredPagesPendingStatus"};

  Function<Return(Device, unsigned, unsigned*)> temperature{library, "nvmlDeviceGetTemperature"};
  Function<Return(Device, unsigned, unsigned*)> temperature_threshold{
      library, "nvmlDeviceGetTemperatureThreshold"};
  Function<Return(Device, MarginTemperature*)> margin{library, "nvmlDeviceGetMarginTemperature"};
  Function<Return(Device, unsigned*)> power_usage{library, "nvmlDeviceGetPowerUsage"};
  Function<Return(Device, unsigned*)> power_limit{library, "nvmlDeviceGetEnforcedPowerLimit"};
  Function<Return(Device, unsigned*)> power_default{library,
                                                    "nvmlDeviceGetPowerManagementDefaultLimit"};
  Function<Return(Device, unsigned*, unsigned*)> power_range{
      library, "nvmlDeviceGetPowerManagementLimitConstraints"};
  Function<Return(Device, unsigned, unsigned*)> clock{library, "nvmlDeviceGetClockInfo"};
  Function<Return(Device, unsigned, unsigned*)> max_clock{library, "nvmlDeviceGetMaxClockInfo"};
  Function<Return(Device, unsigned, unsigned*)> application_clock{library,
                                                                  "nvmlDeviceGetApplicationsClock"};
  Function<Return(Device, unsigned, unsigned*)> default_clock{
      library, "nvmlDeviceGetDefaultApplicationsClock"};
  Function<Return(Device, unsigned long long*)> event_reasons{
      library, "nvmlDeviceGetCurrentClocksEventReasons"};
  // The name of event_reasons before driver 535.
  Function<Return(Device, unsigned long long*)> throttle_reasons{
      library, "nvmlDeviceGetCurrentClocksThrottleReasons"};

  Function<Return(Device, unsigned*)> link_generation{library,
                                                      "nvmlDeviceGetCurrPcieLinkGeneration"};
  Function<Return(Device, unsigned*)> max_link_generation{library,
                                                          "nvmlDeviceGetMaxPcieLinkGeneration"};
  Function<Return(Device, unsigned*)> link_width{library, "nvmlDeviceGetCurrPcieLinkWidth"};
  Function<Return(Device, unsigned*)> max_link_width{library, "nvmlDeviceGetMaxPcieLinkWidth"};
  Function<Return(Device, unsigned*)> replays{library, "nvmlDeviceGetPcieReplayCounter"};

  // Takes a FabricInfoV2 or V3, selected by its version.
  Function<Return(Device, void*)> fabric{library, "nvmlDeviceGetGpuFabricInfoV"};
  Function<Return(Device, unsigned, unsigned*)> nvlink_state{library, "nvmlDeviceGetNvLinkState"};
  Function<Return(Device, unsigned, unsigned, unsigned long long*)> nvlink_errors{
      library, "nvmlDeviceGetNvLinkErrorCounter"};
  Function<Return(Device, unsigned*, unsigned*)> mig_mode{library, "nvmlDeviceGetMigMode"};
  Function<Return(Device, unsigned*)> max_mig_devices{library, "nvmlDeviceGetMaxMigDeviceCount"};
  Function<Return(Device, unsigned, Device*)> mig_device{library,
                                                         "nvmlDeviceGetMigDeviceHandleByIndex"};
  Function<Return(Device, unsigned*, ProcessInfo*)> compute_processes{
      library, "nvmlDeviceGetComputeRunningProcesses_v3"};
  Function<Return(Device, unsigned*, ProcessInfo*)> graphics_processes{
      library, "nvmlDeviceGetGraphicsRunningProcesses_v3"};
  Function<Return(Device, int, FieldValue*)> fields{library, "nvmlDeviceGetFieldValues"};
};

// The paths to search for the library: `path` alone unless it is empty, else the loader's own
// places and those of a containerised driver (NVIDIA GPU operator).
std::vector<std::string> LibraryCandidates(const std::string& path);

// Loads the library for good: a call that hangs may never return from it. NOT_FOUND "libnvidia-ml
// is not installed: ..."; ABORTED it is there and lacks what every version has, or cannot be
// loaded.
absl::StatusOr<const Api*> LoadLibrary(const std::string& path);

// The words that nvidia-smi has for a code: "Driver/library version mismatch".
std::string ErrorText(const Api& api, Return code);

}  // namespace galen::node::nvml

#endif  // SERVICES_NODE_CHECKS_GPU_NVML_LIBRARY_H_
