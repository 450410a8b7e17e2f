#ifndef SERVICES_NODE_CHECKS_GPU_GPU_STATE_H_
#define SERVICES_NODE_CHECKS_GPU_GPU_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace galen::node {

// What `nvidia-smi -q -x` says of every GPU of a machine. A field that it reports as N/A, not
// supported, unknown error or the like has no value: unknown is never 0. An empty text is unknown.

struct EccCounts {
  std::optional<std::int64_t> dram_correctable;
  std::optional<std::int64_t> dram_uncorrectable;
  std::optional<std::int64_t> sram_correctable;
  std::optional<std::int64_t> sram_uncorrectable;
};

struct GpuEcc {
  std::string mode;      // "Enabled", "Disabled"
  EccCounts since_boot;  // volatile: since the driver was loaded
  EccCounts lifetime;    // aggregate
  std::optional<bool> sram_threshold_exceeded;
};

struct GpuRowRemap {
  std::optional<std::int64_t> correctable_rows;
  std::optional<std::int64_t> uncorrectable_rows;
  std::optional<bool> pending;
  std::optional<bool> failure_occurred;
  std::optional<std::int64_t> banks_without_spare;
};

struct GpuRetiredPages {
  std::optional<std::int64_t> count;  // for single and for double bit errors, together
  std::optional<bool> pending;
};

struct GpuThermal {  // degrees Celsius
  std::optional<double> core;
  std::optional<double> memory;
  // Degrees that are left until the hardware slows down.
  std::optional<double> margin_to_slowdown;
};

struct GpuPower {  // watts
  std::optional<double> draw;
  std::optional<double> limit;
  std::optional<double> default_limit;
  std::optional<double> max_limit;
};

struct GpuClocks {  // MHz
  std::optional<double> sm;
  std::optional<double> sm_max;
  // The clocks that a user asked for, and what they are by default.
  std::optional<double> application_graphics;
  std::optional<double> default_graphics;
  std::optional<double> application_memory;
  std::optional<double> default_memory;
};

struct GpuThrottle {
  std::optional<bool> hw_thermal;
  std::optional<bool> sw_thermal;
  std::optional<bool> hw_power_brake;
  std::optional<bool> hw_slowdown;
  std::optional<bool> sw_power_cap;
  std::optional<bool> application_clocks;
};

struct GpuPcie {
  std::optional<std::int64_t> gen_current;
  std::optional<std::int64_t> gen_max;
  std::optional<std::int64_t> width_current;
  std::optional<std::int64_t> width_max;
  std::optional<std::int64_t> replays;
};

struct GpuFabric {
  std::string state;   // "Completed", "In Progress"
  std::string status;  // "Success"
  // Whether any part of the health mask is bad.
  std::optional<bool> health_bad;
};

struct GpuMig {
  std::string current;  // "Enabled", "Disabled"
  std::string pending;
  int instances = 0;
};

struct GpuProcess {
  std::int64_t pid = 0;
  std::string type;  // "C", "G", "C+G"
  std::string name;
  std::optional<double> memory_mib;
};

struct Gpu {
  // As nvidia-smi numbers them: by PCI address.
  int index = 0;
  std::string product;
  std::string architecture;
  std::string uuid;
  std::string serial;
  std::string pci_address;  // 0000:b3:00.0
  std::string vbios;
  std::string inforom_image;
  std::string gsp_firmware;
  std::string virtualization;
  std::string performance_state;  // "P0"
  std::string compute_mode;
  std::string recovery_action;  // "None", "GPU Reset"
  std::optional<bool> persistence;
  // Fields answer "GPU requires reset".
  bool requires_reset = false;
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
  // Unknown when the section is missing.
  std::optional<std::vector<GpuProcess>> processes;
};

struct GpuState {
  std::string driver_version;
  std::string cuda_version;
  std::vector<Gpu> gpus;
  // What was printed around the XML: warnings.
  std::string remarks;
  // The XML itself.
  std::string raw;
};

// "gpu:1".
std::string DeviceName(const Gpu& gpu);

// Parses the output of `nvidia-smi -q -x` of any driver. DATA_LOSS when it is cut off or is not the
// XML of nvidia-smi. Safe on hostile input.
absl::StatusOr<GpuState> ParseGpuState(absl::string_view output);

// "00000000:4B:00.0", "4b:00.0" and "0000:4B:00" become "0000:4b:00.0"; "" when it is none.
std::string CanonicalPciAddress(absl::string_view address);

// True for the many ways in which nvidia-smi says that it has no value.
bool SaysNothing(absl::string_view text);

// The number that `text` begins with ("36 C", "16x"); none when it begins with no finite number.
std::optional<double> LeadingNumber(absl::string_view text);
std::optional<std::int64_t> LeadingInteger(absl::string_view text);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_GPU_STATE_H_
