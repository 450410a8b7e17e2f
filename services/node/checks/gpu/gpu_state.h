#ifndef SERVICES_NODE_CHECKS_GPU_GPU_STATE_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/gpu/link_reports.h"

namespace galen::node {

// The state of every GPU of a machine, from any source: NVML, `nvidia-smi -q -x`, or for AMD the
// kernel, amd-smi and rocm-smi. A field that the source reports as N/A, not supported, not
// permitted, unknown error or the like has no value: unknown is never 0. An empty text is unknown.
// Texts are those of nvidia-smi, so that two sources of one machine give equal states.

struct EccCounts {
  std::optional<std::int64_t> dram_correctable;
  std::optional<std::int64_t> dram_uncorrectable;
  std::optional<std::int64_t> sram_correctable;
  std::optional<std::int64_t> sram_uncorrectable;

  bool operator==(const EccCounts&) const = default;
};

struct GpuEcc {
  std::string mode;      // "Enabled", "Disabled"
  EccCounts since_boot;  // volatile: since the driver was loaded
  EccCounts lifetime;    // aggregate
  std::optional<bool> sram_threshold_exceeded;

  bool operator==(const GpuEcc&) const = default;
};

struct GpuRowRemap {
  std::optional<std::int64_t> correctable_rows;
  std::optional<std::int64_t> uncorrectable_rows;
  std::optional<bool> pending;
  std::optional<bool> failure_occurred;
  std::optional<std::int64_t> banks_without_spare;

  bool operator==(const GpuRowRemap&) const = default;
};

struct GpuRetiredPages {
  // NVIDIA: for single and for double bit errors, together. AMD: bad pages of the memory.
  std::optional<std::int64_t> count;
  std::optional<bool> pending;
  // AMD: the number of bad pages from which the driver refuses the GPU.
  std::optional<std::int64_t> threshold;

  bool operator==(const GpuRetiredPages&) const = default;
};

struct GpuThermal {  // degrees Celsius
  std::optional<double> core;
  std::optional<double> memory;
  std::optional<double> slowdown;  // from so hot on it slows down, where the source says so
  // Degrees that are left until the hardware slows down.
  std::optional<double> margin_to_slowdown;

  bool operator==(const GpuThermal&) const = default;
};

struct GpuPower {  // watts
  std::optional<double> draw;
  std::optional<double> limit;
  std::optional<double> default_limit;
  std::optional<double> max_limit;

  bool operator==(const GpuPower&) const = default;
};

struct GpuClocks {  // MHz
  std::optional<double> sm;
  std::optional<double> sm_max;
  // The clocks that a user asked for, and what they are by default.
  std::optional<double> application_graphics;
  std::optional<double> default_graphics;
  std::optional<double> application_memory;
  std::optional<double> default_memory;

  bool operator==(const GpuClocks&) const = default;
};

struct GpuThrottle {
  std::optional<bool> hw_thermal;
  std::optional<bool> sw_thermal;
  std::optional<bool> hw_power_brake;
  std::optional<bool> hw_slowdown;
  std::optional<bool> sw_power_cap;
  std::optional<bool> application_clocks;

  bool operator==(const GpuThrottle&) const = default;
};

struct GpuPcie {
  std::optional<std::int64_t> gen_current;
  std::optional<std::int64_t> gen_max;
  std::optional<std::int64_t> width_current;
  std::optional<std::int64_t> width_max;
  std::optional<std::int64_t> replays;

  bool operator==(const GpuPcie&) const = default;
};

struct GpuFabric {
  std::string state;   // "Completed", "In Progress"
  std::string status;  // "Success"
  // Whether any part of the health mask is bad.
  std::optional<bool> health_bad;
  // Whether the fabric reaches GPUs of other machines (MNNVL): its cluster has a UUID.
  std::optional<bool> spans_machines;

  bool operator==(const GpuFabric&) const = default;
};

struct GpuMig {
  std::string current;  // "Enabled", "Disabled"
  std::string pending;
  std::optional<int> instances;

  bool operator==(const GpuMig&) const = default;
};

// AMD's links between GPUs.
struct GpuXgmi {
  // Sums over all links of the GPU, since the driver was loaded.
  std::optional<std::int64_t> correctable;
  std::optional<std::int64_t> uncorrectable;
  // Whether the link to each other GPU is up, by that GPU's index.
  std::map<int, std::optional<bool>> up;
  std::optional<double> link_gb_s;  // of one link, both directions together
  bool operator==(const GpuXgmi&) const = default;
};

struct GpuProcess {
  std::int64_t pid = 0;
  std::string type;  // "C", "G", "C+G"
  std::string name;
  std::optional<double> memory_mib;

  bool operator==(const GpuProcess&) const = default;
};

struct Gpu {
  // As the vendor's tool numbers them: by PCI address.
  int index = 0;
  std::string vendor;  // "NVIDIA", "AMD"
  std::string product;
  std::string architecture;
  std::string uuid;
  std::string serial;
  std::string pci_address;  // 0000:b3:00.0
  std::string vbios;
  std::string inforom_image;
  std::string gsp_firmware;
  std::string mes_firmware;  // AMD: scheduler
  std::string smc_firmware;  // AMD: power management
  std::string virtualization;
  std::string performance_state;  // "P0"
  std::string compute_mode;
  std::string recovery_action;  // "None", "GPU Reset"
  std::optional<bool> persistence;
  // Fields answer "GPU requires reset".
  bool requires_reset = false;
  // It fell off the bus: nothing else is known of it.
  bool lost = false;
  // The driver counts it and does not hand it out, as is usual after it fell off the bus: nothing
  // else is known of it.
  bool unreachable = false;
  // The infoROM's checksum is wrong; unknown if it was not checked.
  std::optional<bool> inforom_corrupted;
  std::optional<double> utilization;  // percent
  std::optional<double> memory_total_mib;
  std::optional<double> memory_used_mib;
  std::optional<double> bar1_mib;
  GpuEcc ecc;
  GpuRowRemap row_remap;
  GpuRetiredPages retired_pages;
  GpuThermal thermal;
  GpuPower power;
  GpuClocks clocks;
  GpuThrottle throttle;
  GpuPcie pcie;
  GpuFabric fabric;
  GpuMig mig;
  GpuXgmi xgmi;
  // Unknown when the section is missing.
  std::optional<std::vector<GpuProcess>> processes;

  bool operator==(const Gpu&) const = default;
};

// One answer of a source other than XML, for excerpts: "nvmlDeviceGetTemperature(0) = 41".
struct GpuReading {
  int gpu = 0;
  std::string section;  // as the element of nvidia-smi's XML that holds such values is called
  std::string text;
};

struct GpuState {
  std::string source;  // "NVML", "nvidia-smi -q -x", "amdgpu"
  std::string driver_version;
  std::string cuda_version;
  std::vector<Gpu> gpus;
  // NVLinks and their counters, if the source reports them (NVML does); else empty.
  std::vector<GpuLinks> nvlinks;
  std::vector<GpuLinkErrors> nvlink_errors;
  std::vector<GpuLinks> c2c_links;
  // Warnings printed around the XML.
  std::string remarks;
  // The XML itself; empty for other sources.
  std::string raw;
  std::vector<GpuReading> readings;
};

// "gpu:1".
std::string DeviceName(const Gpu& gpu);

// Parses the output of `nvidia-smi -q -x` of any driver. DATA_LOSS when it is cut off or is not the
// XML of nvidia-smi. Safe on hostile input.
absl::StatusOr<GpuState> ParseGpuState(absl::string_view output);

// "00000000:4B:00.0", "4b:00.0" and "0000:4B:00" become "0000:4b:00.0"; "" if it is invalid.
std::string CanonicalPciAddress(absl::string_view address);

// True for the many ways in which nvidia-smi says that it has no value.
bool SaysNothing(absl::string_view text);

// The number that `text` begins with ("36 C", "16x"); none when it begins with no finite number.
std::optional<double> LeadingNumber(absl::string_view text);
std::optional<std::int64_t> LeadingInteger(absl::string_view text);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_STATE_H_
