#ifndef SERVICES_NODE_CHECKS_GPU_AMD_STATE_H_
#define SERVICES_NODE_CHECKS_GPU_AMD_STATE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"
#include "services/node/checks/gpu/gpu_state.h"

namespace galen::node {

// A GpuState from AMD's tools and the kernel. The temperature of the core is that of its hottest
// spot ("junction"), to which the limits apply; dram is block UMC, sram all other blocks but XGMI.

// `amd-smi static|metric|bad-pages|xgmi --json`, of ROCm 5 to 7: whichever of these the text holds.
// DATA_LOSS when it is not such JSON. Safe on hostile input, linear in it.
absl::StatusOr<GpuState> ParseAmdSmi(absl::string_view output);

// `rocm-smi --showallinfo --json` (and -a --json). DATA_LOSS as above.
absl::StatusOr<GpuState> ParseRocmSmi(absl::string_view output);

// "ue: 0\nce: 3\n" of ras/*_err_count.
struct RasCount {
  std::optional<std::int64_t> uncorrectable;
  std::optional<std::int64_t> correctable;
};
RasCount ParseRasCount(absl::string_view content);

// Whether a count of errors is a register of ones, which is what a device that sleeps answers.
bool AllOnes(const std::optional<std::int64_t>& count);

// Counts of several RAS blocks together.
class RasSum {
 public:
  // A missing count changes nothing.
  void Add(const std::optional<std::int64_t>& count);
  // Unknown if no block reported its count, or if all reported counts are 0 while another block was
  // asleep.
  std::optional<std::int64_t> value() const;
  // Whether a block was asleep.
  bool incomplete() const { return incomplete_; }

 private:
  std::optional<std::int64_t> sum_;
  bool incomplete_ = false;
};

// ras/gpu_vram_bad_pages: lines "0x00000001 : 0x00001000 : R", where R is retired, P pending, and F
// could not be reserved, so that it is still in use.
GpuRetiredPages ParseBadPages(absl::string_view content);

// "MES feature version: 1, firmware version: 0x00000083" and the like of debugfs'
// amdgpu_firmware_info; "" for what it does not list.
struct AmdFirmware {
  std::string mes;
  std::string smc;
  std::string vbios;
};
AmdFirmware ParseAmdFirmwareInfo(absl::string_view content);

// Reads /sys/class/drm. The host's errors; NOT_FOUND if no card is AMD's.
absl::StatusOr<GpuState> ReadAmdSysfs(const host::Host& host);

// Fills what `into` does not know from `from`: GPUs are the same that have one PCI address, or one
// number where an address is not known. GPUs that only `from` has are added.
void Complete(GpuState& into, const GpuState& from);

// All sources together, the kernel's word first. NOT_FOUND the node has no AMD GPU; UNAVAILABLE
// nothing was captured; ABORTED and DATA_LOSS where tools are there and none of them answers.
absl::StatusOr<GpuState> QueryAmd(const host::Host& host);

// The generation of a PCIe link by its rate in GT/s; none for a rate that PCIe does not have.
std::optional<std::int64_t> PcieGeneration(std::optional<double> giga_transfers);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_AMD_STATE_H_
