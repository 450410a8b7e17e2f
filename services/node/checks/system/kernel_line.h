#ifndef SERVICES_NODE_CHECKS_SYSTEM_KERNEL_LINE_H_
#define SERVICES_NODE_CHECKS_SYSTEM_KERNEL_LINE_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace galen::node {

// One line of a kernel log, whoever printed it.
struct KernelLine {
  std::optional<absl::Time> time;  // wall clock, where the line carries one
  std::optional<double> uptime_s;  // seconds since boot, where the line carries them
  absl::string_view message;       // points into the line
};

// Reads a line in any form that dmesg, /dev/kmsg, journalctl and syslog give it:
//   2024-05-06T07:08:09,123456+00:00 text      dmesg --time-format iso (comma or dot)
//   2024-05-06T07:08:09+0000 host kernel: text journalctl -k -o short-iso
//   [Mon May  6 07:08:09 2024] text            dmesg -T (taken as UTC)
//   [  123.456789] text                        dmesg
//   6,1234,123456789,-;text                    /dev/kmsg
//   May  6 07:08:09 host kernel: [1.5] text    syslog (no year, so no time)
// A line of any other form is all message. Pure.
KernelLine ParseKernelLine(absl::string_view line);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_KERNEL_LINE_H_
