// A libnvidia-ml.so.1 that answers from a script: the JSON file that GALEN_FAKE_NVML names, which
// each nvmlInit_v2 reads again.
//
//   {"init": 18, "driver": "550.54.14", "cuda": 12040, "names": {"4711": "python3"},
//    "gpus": [{"nvmlDeviceGetName": "NVIDIA A100-SXM4-80GB",
//              "nvmlDeviceGetTemperature/0": 36,
//              "nvmlDeviceGetSerial": {"error": 4},
//              "nvmlDeviceGetEccMode": [1, 1],
//              "nvmlDeviceGetPcieReplayCounter": {"start": 5, "step": 3},
//              "nvmlDeviceGetPowerUsage": {"hang": true},
//              "handle": {"error": 15}}]}
//
// Numbers after "/" are arguments; "error" fails with that code; an array has several results;
// "start" grows by "step" with each init; "hang" waits until <script>.release exists, then fails.
// A value that a script does not contain is NOT_SUPPORTED.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "services/node/checks/gpu/nvml_abi.h"

namespace {

using galen::node::nvml::Device;
using galen::node::nvml::FabricInfoV2;
using galen::node::nvml::FabricInfoV3;
using galen::node::nvml::FieldValue;
using galen::node::nvml::MarginTemperature;
using galen::node::nvml::Memory;
using galen::node::nvml::MemoryV2;
using galen::node::nvml::PciInfo;
using galen::node::nvml::ProcessInfo;
using galen::node::nvml::Return;
using galen::node::nvml::RowRemapperHistogram;
using galen::node::nvml::Utilization;
using galen::node::nvml::Version;
using nlohmann::json;

constexpr Return kInvalidArgument = 2;
constexpr Return kUninitialized = 1;
constexpr Return kVersionMismatch = 25;

json script;
std::atomic<int> inits{0};
std::atomic<int> open_count{0};
std::atomic<int> hanging{0};

void WaitForRelease() {
  const std::string release = std::string(std::getenv("GALEN_FAKE_NVML")) + ".release";
  ++hanging;
  while (access(release.c_str(), F_OK) != 0) usleep(2000);
  --hanging;
}

const json* Gpu(Device device) {
  const auto index = reinterpret_cast<std::uintptr_t>(device) - 1;
  return index < script["gpus"].size() ? &script["gpus"][index] : nullptr;
}

// The scripted answer, or the code instead of it.
Return Find(Device device, std::string key, std::initializer_list<unsigned> arguments,
            const json*& answer) {
  if (open_count == 0) return kUninitialized;
  const json* const gpu = Gpu(device);
  if (gpu == nullptr) return kInvalidArgument;
  for (const unsigned argument : arguments) key += "/" + std::to_string(argument);
  const auto found = gpu->find(key);
  if (found == gpu->end()) return galen::node::nvml::kNotSupported;
  if (found->is_object() && found->contains("hang")) {
    WaitForRelease();
    return galen::node::nvml::kTimeout;
  }
  if (found->is_object() && found->contains("error")) return (*found)["error"].get<Return>();
  answer = &*found;
  return galen::node::nvml::kSuccess;
}

template <typename Number>
Number Value(const json& answer) {
  if (!answer.is_object()) return answer.get<Number>();
  return static_cast<Number>(answer["start"].get<Number>() +
                             answer["step"].get<Number>() * static_cast<Number>(inits - 1));
}

template <typename Number>
Return Answer(Device device, const char* name, std::initializer_list<unsigned> arguments,
              std::initializer_list<Number*> results) {
  const json* answer = nullptr;
  if (const Return code = Find(device, name, arguments, answer); code != 0) return code;
  if (results.size() == 1) {
    **results.begin() = Value<Number>(*answer);
    return 0;
  }
  std::size_t i = 0;
  for (Number* const result : results) *result = Value<Number>((*answer)[i++]);
  return 0;
}

Return Copy(const std::string& text, char* buffer, std::size_t size) {
  if (text.size() >= size) return galen::node::nvml::kInsufficientSize;
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return 0;
}

Return Text(Device device, const char* name, char* buffer, std::size_t size) {
  const json* answer = nullptr;
  if (const Return code = Find(device, name, {}, answer); code != 0) return code;
  return Copy(answer->get<std::string>(), buffer, size);
}

Return Processes(Device device, const char* name, unsigned* count, ProcessInfo* infos) {
  const json* answer = nullptr;
  if (const Return code = Find(device, name, {}, answer); code != 0) return code;
  if (*count < answer->size()) return galen::node::nvml::kInsufficientSize;
  *count = static_cast<unsigned>(answer->size());
  for (std::size_t i = 0; i < answer->size(); ++i) {
    infos[i] = {};
    infos[i].pid = (*answer)[i][0].get<unsigned>();
    infos[i].memory = (*answer)[i][1].get<unsigned long long>();
  }
  return 0;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  const char* const path = std::getenv("GALEN_FAKE_NVML");
  if (path == nullptr) return galen::node::nvml::kDriverNotLoaded;
  std::ifstream file(path);
  script = json::parse(file);
  ++inits;
  if (script.contains("init_hangs")) WaitForRelease();
  const Return code = script.value("init", 0);
  if (code == 0) ++open_count;
  return code;
}

Return nvmlShutdown() {
  if (open_count == 0) return kUninitialized;
  --open_count;
  return 0;
}

// The number of callers that have it open, or hang in it: a reader must leave nothing open. For
// tests alone.
int FakeNvmlOpenCount() { return open_count + hanging; }

const char* nvmlErrorString(Return code) {
  switch (code) {
    case 0:
      return "Success";
    case 3:
      return "Not Supported";
    case 4:
      return "Insufficient Permissions";
    case 9:
      return "Driver Not Loaded";
    case 10:
      return "Timeout";
    case 14:
      return "Corrupted infoROM";
    case 15:
      return "GPU is lost";
    case 16:
      return "GPU requires reset";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
  return Copy(script.value("driver", ""), buffer, size);
}
Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = script.value("cuda", 0);
  return 0;
}
Return nvmlSystemGetProcessName(unsigned pid, char* buffer, unsigned size) {
  if (!script.contains("names")) return galen::node::nvml::kNotFound;
  return Copy(script["names"].value(std::to_string(pid), ""), buffer, size);
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(script["gpus"].size());
  return 0;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  *device = reinterpret_cast<Device>(static_cast<std::uintptr_t>(index) + 1);
  const json* answer = nullptr;
  const Return code = Find(*device, "handle", {}, answer);
  return code == galen::node::nvml::kNotSupported ? 0 : code;
}

#define FAKE_TEXT(name)                                     \
  Return name(Device device, char* buffer, unsigned size) { \
    return Text(device, #name, buffer, size);               \
  }
FAKE_TEXT(nvmlDeviceGetName)
FAKE_TEXT(nvmlDeviceGetUUID)
FAKE_TEXT(nvmlDeviceGetSerial)
FAKE_TEXT(nvmlDeviceGetVbiosVersion)
FAKE_TEXT(nvmlDeviceGetInforomImageVersion)
Return nvmlDeviceGetGspFirmwareVersion(Device device, char* buffer) {
  return Text(device, "nvmlDeviceGetGspFirmwareVersion", buffer, 80);
}

#define FAKE_NUMBER(name)                                 \
  Return name(Device device, unsigned* result) {          \
    return Answer<unsigned>(device, #name, {}, {result}); \
  }
FAKE_NUMBER(nvmlDeviceGetArchitecture)
FAKE_NUMBER(nvmlDeviceGetVirtualizationMode)
FAKE_NUMBER(nvmlDeviceGetPerformanceState)
FAKE_NUMBER(nvmlDeviceGetComputeMode)
FAKE_NUMBER(nvmlDeviceGetPersistenceMode)
FAKE_NUMBER(nvmlDeviceGetRetiredPagesPendingStatus)
FAKE_NUMBER(nvmlDeviceGetPowerUsage)
FAKE_NUMBER(nvmlDeviceGetEnforcedPowerLimit)
FAKE_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit)
FAKE_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration)
FAKE_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration)
FAKE_NUMBER(nvmlDeviceGetCurrPcieLinkWidth)
FAKE_NUMBER(nvmlDeviceGetMaxPcieLinkWidth)
FAKE_NUMBER(nvmlDeviceGetPcieReplayCounter)
FAKE_NUMBER(nvmlDeviceGetMaxMigDeviceCount)

#define FAKE_NUMBER_OF(name)                                        \
  Return name(Device device, unsigned argument, unsigned* result) { \
    return Answer<unsigned>(device, #name, {argument}, {result});   \
  }
FAKE_NUMBER_OF(nvmlDeviceGetTemperature)
FAKE_NUMBER_OF(nvmlDeviceGetTemperatureThreshold)
FAKE_NUMBER_OF(nvmlDeviceGetClockInfo)
FAKE_NUMBER_OF(nvmlDeviceGetMaxClockInfo)
FAKE_NUMBER_OF(nvmlDeviceGetApplicationsClock)
FAKE_NUMBER_OF(nvmlDeviceGetDefaultApplicationsClock)
FAKE_NUMBER_OF(nvmlDeviceGetNvLinkState)

#define FAKE_PAIR(name)                                           \
  Return name(Device device, unsigned* first, unsigned* second) { \
    return Answer<unsigned>(device, #name, {}, {first, second});  \
  }
FAKE_PAIR(nvmlDeviceGetEccMode)
FAKE_PAIR(nvmlDeviceGetMigMode)
FAKE_PAIR(nvmlDeviceGetPowerManagementLimitConstraints)

Return nvmlDeviceValidateInforom(Device device) {
  const json* answer = nullptr;
  return Find(device, "nvmlDeviceValidateInforom", {}, answer);
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* instance) {
  unsigned there = 0;
  const Return code =
      Answer<unsigned>(device, "nvmlDeviceGetMigDeviceHandleByIndex", {index}, {&there});
  *instance = device;
  return code;
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  *info = {};
  return Text(device, "nvmlDeviceGetPciInfo_v3", info->bus_id, sizeof(info->bus_id));
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  return Answer<unsigned>(device, "nvmlDeviceGetUtilizationRates", {},
                          {&rates->gpu, &rates->memory});
}
Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (memory->version != Version<MemoryV2>(2)) return kVersionMismatch;
  return Answer<unsigned long long>(device, "nvmlDeviceGetMemoryInfo_v2", {},
                                    {&memory->total, &memory->used});
}
Return nvmlDeviceGetBAR1MemoryInfo(Device device, Memory* memory) {
  return Answer<unsigned long long>(device, "nvmlDeviceGetBAR1MemoryInfo", {}, {&memory->total});
}
Return nvmlDeviceGetMemoryErrorCounter(Device device, unsigned type, unsigned counter,
                                       unsigned place, unsigned long long* count) {
  return Answer<unsigned long long>(device, "nvmlDeviceGetMemoryErrorCounter",
                                    {type, counter, place}, {count});
}
Return nvmlDeviceGetSramEccErrorStatus(Device device, galen::node::nvml::EccSramStatus* status) {
  return Answer<unsigned>(device, "nvmlDeviceGetSramEccErrorStatus", {},
                          {&status->threshold_exceeded});
}
Return nvmlDeviceGetRemappedRows(Device device, unsigned* correctable, unsigned* uncorrectable,
                                 unsigned* pending, unsigned* failed) {
  return Answer<unsigned>(device, "nvmlDeviceGetRemappedRows", {},
                          {correctable, uncorrectable, pending, failed});
}
Return nvmlDeviceGetRowRemapperHistogram(Device device, RowRemapperHistogram* histogram) {
  return Answer<unsigned>(device, "nvmlDeviceGetRowRemapperHistogram", {}, {&histogram->none});
}
Return nvmlDeviceGetRetiredPages(Device device, unsigned cause, unsigned* count,
                                 unsigned long long* addresses) {
  const Return code = Answer<unsigned>(device, "nvmlDeviceGetRetiredPages", {cause}, {count});
  return code == 0 && *count > 0 && addresses == nullptr ? galen::node::nvml::kInsufficientSize
                                                         : code;
}
Return nvmlDeviceGetMarginTemperature(Device device, MarginTemperature* margin) {
  return Answer<int>(device, "nvmlDeviceGetMarginTemperature", {}, {&margin->margin});
}
Return nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  return Answer<unsigned long long>(device, "nvmlDeviceGetCurrentClocksEventReasons", {},
                                    {reasons});
}
Return nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, unsigned counter,
                                       unsigned long long* count) {
  return Answer<unsigned long long>(device, "nvmlDeviceGetNvLinkErrorCounter", {link, counter},
                                    {count});
}
Return nvmlDeviceGetGpuFabricInfoV(Device device, void* info) {
  unsigned version = 0;
  std::memcpy(&version, info, sizeof(version));
  // Scripted as [state, status, mask, summary, first byte of the cluster], the last one as it may
  // be; a driver of version 2 has no summary.
  const json* answer = nullptr;
  if (const Return code = Find(device, "nvmlDeviceGetGpuFabricInfoV", {}, answer); code != 0) {
    return code;
  }
  const bool third = answer->size() >= 4;
  if (version != (third ? Version<FabricInfoV3>(3) : Version<FabricInfoV2>(2))) {
    return kVersionMismatch;
  }
  const auto fill = [&](auto* fabric) {
    fabric->state = (*answer)[0].get<unsigned char>();
    fabric->status = (*answer)[1].get<Return>();
    fabric->health = (*answer)[2].get<unsigned>();
  };
  if (third) {
    fill(static_cast<FabricInfoV3*>(info));
    auto* fabric = static_cast<FabricInfoV3*>(info);
    fabric->summary = (*answer)[3].get<unsigned char>();
    if (answer->size() > 4) fabric->cluster[0] = (*answer)[4].get<unsigned char>();
  } else {
    fill(static_cast<FabricInfoV2*>(info));
  }
  return 0;
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos) {
  return Processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", count, infos);
}
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count,
                                                ProcessInfo* infos) {
  return Processes(device, "nvmlDeviceGetGraphicsRunningProcesses_v3", count, infos);
}
Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].type = 3;
    values[i].value.ull = 0;
    values[i].result = Answer<unsigned long long>(
        device, "field", {values[i].field, values[i].scope}, {&values[i].value.ull});
  }
  return 0;
}

}  // extern "C"
