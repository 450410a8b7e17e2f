#ifndef SERVICES_NODE_CHECKS_GPU_KERNEL_LINES_H_
#define SERVICES_NODE_CHECKS_GPU_KERNEL_LINES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/host/host.h"

namespace galen::node {

// Errors of PCI devices in the kernel log, by address ("0000:b3:00.0").
struct KernelPciEvents {
  // AER reports of errors that were corrected, and that were not.
  std::map<std::string, std::int64_t> aer_corrected;
  std::map<std::string, std::int64_t> aer_uncorrected;
  // Devices with a memory region for which no address was found, in the end.
  std::set<std::string> no_space;
  // The recovery action that the driver asked for last (Xid 154), as it names it.
  std::map<std::string, std::string> recovery_action;
  // AMD GPUs of which the driver logged that they have as many bad pages as it bears.
  std::set<std::string> bad_page_threshold;
  // The first lines of these kinds.
  std::vector<std::string> lines;
};

KernelPciEvents ParseKernelPciEvents(absl::string_view log);

// From `dmesg --time-format iso`. The host's errors; PERMISSION_DENIED when dmesg refuses.
absl::StatusOr<KernelPciEvents> ReadKernelPciEvents(const host::Host& host);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_GPU_KERNEL_LINES_H_
