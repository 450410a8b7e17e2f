#ifndef SERVICES_NODE_CHECKS_SYSTEM_DRIVES_H_
#define SERVICES_NODE_CHECKS_SYSTEM_DRIVES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// The health that a drive reports.
struct DriveHealth {
  std::string device;  // "nvme0", "sdb"
  std::string model;
  std::optional<bool> passed;  // the drive's own verdict
  std::optional<double> wear_pct;
  // NVMe health log, NVM Express Base Specification, "SMART / Health Information".
  std::optional<std::int64_t> critical_warning;
  std::optional<std::int64_t> spare_pct;
  std::optional<std::int64_t> spare_threshold_pct;
  std::optional<std::int64_t> media_errors;
  std::optional<std::int64_t> power_on_hours;
  std::optional<std::int64_t> power_cycles;
  std::optional<std::int64_t> host_reads;
  // SCSI and ATA.
  std::optional<std::int64_t> uncorrected;  // errors that no retry cured
  std::optional<std::int64_t> pending_sectors;
  std::vector<std::string> errors;  // what smartctl complained of
};

// Output of `smartctl -a -j`, or -x. DATA_LOSS: it is not that.
absl::StatusOr<DriveHealth> ParseSmartctl(absl::string_view json);

// Output of `smartctl -a` without -j. DATA_LOSS: it is not that.
absl::StatusOr<DriveHealth> ParseSmartctlText(absl::string_view text);

// The drive's faults in words; empty: none. Pure.
std::string FaultOf(const DriveHealth& drive);

// An array of /proc/mdstat.
struct MdArray {
  std::string name;
  bool active = false;
  bool broken = false;     // it lost a member that it cannot do without
  bool container = false;  // a firmware's: it contains arrays and is not one itself
  int wanted = 0;          // members that it should have; 0: not stated
  int present = 0;         // members in use
  bool rebuilding = false;
};

// Pure.
std::vector<MdArray> ParseMdstat(absl::string_view text);

// Whether it serves nothing, or lacks a member. A container is inactive by its nature. Pure.
bool IsDegraded(const MdArray& array);

// system.drives.
absl::StatusOr<CheckOutput> CheckDrives(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_DRIVES_H_
