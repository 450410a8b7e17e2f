#ifndef SERVICES_NODE_CHECKS_GPU_NVML_ABI_H_
#define SERVICES_NODE_CHECKS_GPU_NVML_ABI_H_

#include <cstddef>

// The part of NVML's binary interface that we use, in our own words: NVIDIA's header is in no
// distribution of free software, and the library is loaded at run time. Numbers and layouts are
// those of the NVML API reference (https://docs.nvidia.com/deploy/nvml-api), which keeps them for
// good; functions whose layout changed have a version in their name.
namespace galen::node::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kCorruptedInforom = 14;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kLibRmVersionMismatch = 18;

using Device = struct DeviceHandle*;

// Clocks.
inline constexpr unsigned kClockGraphics = 0;
inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMemory = 2;

// Temperatures.
inline constexpr unsigned kSensorGpu = 0;
inline constexpr unsigned kThresholdSlowdown = 1;

// ECC: error types, counters and places.
inline constexpr unsigned kCorrected = 0;
inline constexpr unsigned kUncorrected = 1;
inline constexpr unsigned kSinceBoot = 0;
inline constexpr unsigned kLifetime = 1;
inline constexpr unsigned kL1Cache = 0;
inline constexpr unsigned kL2Cache = 1;
inline constexpr unsigned kDram = 2;
inline constexpr unsigned kRegisterFile = 3;
inline constexpr unsigned kTextureMemory = 4;
inline constexpr unsigned kTextureShm = 5;
inline constexpr unsigned kCbu = 6;
inline constexpr unsigned kSram = 7;

// Bits of the reasons for low clocks.
inline constexpr unsigned long long kReasonApplicationClocks = 0x2;
inline constexpr unsigned long long kReasonSwPowerCap = 0x4;
inline constexpr unsigned long long kReasonHwSlowdown = 0x8;
inline constexpr unsigned long long kReasonSwThermal = 0x20;
inline constexpr unsigned long long kReasonHwThermal = 0x40;
inline constexpr unsigned long long kReasonHwPowerBrake = 0x80;

// Retired pages: causes.
inline constexpr unsigned kRetiredSingleBit = 0;
inline constexpr unsigned kRetiredDoubleBit = 1;

// NVLink error counters.
inline constexpr unsigned kLinkReplay = 0;
inline constexpr unsigned kLinkRecovery = 1;
inline constexpr unsigned kLinkCrcFlit = 2;
inline constexpr unsigned kMaxLinks = 36;  // of one GPU, in this version of the interface

// Fields of nvmlDeviceGetFieldValues.
inline constexpr unsigned kFieldMemoryTemperature = 82;
inline constexpr unsigned kFieldC2cLinkCount = 170;
inline constexpr unsigned kFieldC2cLinkStatus = 171;   // scope: link
inline constexpr unsigned kFieldPowerInstant = 186;    // milliwatts; scope: 0 the GPU
inline constexpr unsigned kFieldSlowdownTlimit = 194;  // degrees
inline constexpr unsigned kFieldLinkRecovery = 215;    // scope: link
inline constexpr unsigned kFieldEffectiveBer = 220;    // scope: link
inline constexpr unsigned kFieldRecoveryAction = 230;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];
};

struct Memory {  // bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct EccSramStatus {
  unsigned version;
  unsigned long long aggregate_parity;
  unsigned long long aggregate_secded;
  unsigned long long aggregate_corrected;
  unsigned long long volatile_parity;
  unsigned long long volatile_secded;
  unsigned long long volatile_corrected;
  unsigned long long bucket_l2;
  unsigned long long bucket_sm;
  unsigned long long bucket_pcie;
  unsigned long long bucket_mcu;
  unsigned long long bucket_other;
  unsigned threshold_exceeded;
};

struct RowRemapperHistogram {
  unsigned max;
  unsigned high;
  unsigned partial;
  unsigned low;
  unsigned none;
};

struct MarginTemperature {
  unsigned version;
  int margin;
};

union Value {
  double d;
  int si;
  unsigned ui;
  unsigned long ul;
  unsigned long long ull;
  long long sll;
  unsigned short us;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;  // which member of the value: 0 d, 1 ui, 2 ul, 3 ull, 4 sll, 5 si, 6 us
  Return result;
  Value value;
};

struct FabricInfoV2 {
  unsigned version;
  unsigned char cluster[16];
  Return status;
  unsigned clique;
  unsigned char state;  // 0 not supported, 1 not started, 2 in progress, 3 completed
  unsigned health;
};

struct FabricInfoV3 {
  unsigned version;
  unsigned char cluster[16];
  Return status;
  unsigned clique;
  unsigned char state;
  unsigned health;
  unsigned char summary;  // 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;  // bytes; all ones: unknown
  unsigned gpu_instance;
  unsigned compute_instance;
};

// The layouts that NVML has on 64-bit Linux.
static_assert(sizeof(PciInfo) == 68 && sizeof(Memory) == 24 && sizeof(MemoryV2) == 40);
static_assert(sizeof(EccSramStatus) == 104 && sizeof(FieldValue) == 40);
static_assert(sizeof(FabricInfoV2) == 36 && sizeof(FabricInfoV3) == 40);
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, gpu_instance) == 16);

// The value of the member `version` of a structure.
template <typename Struct>
constexpr unsigned Version(unsigned number) {
  return static_cast<unsigned>(sizeof(Struct)) | (number << 24U);
}

}  // namespace galen::node::nvml

#endif  // SERVICES_NODE_CHECKS_GPU_NVML_ABI_H_
