#ifndef SERVICES_NODE_CHECKS_SYSTEM_KERNEL_EVENTS_H_
#define SERVICES_NODE_CHECKS_SYSTEM_KERNEL_EVENTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "galen/knowledge/v1/knowledge.pb.h"
#include "services/node/checks/system/kernel_patterns.h"

namespace galen::node {

// The kind of a kernel message.
using EventFamily = knowledge::v1::KernelFamily;

// One kind of event on one device, with how often it was logged.
struct KernelEvent {
  EventFamily family = EventFamily::KERNEL_FAMILY_UNSPECIFIED;
  std::string code;     // "48", "mes_no_response", "memcg:python3", ...
  std::string pci;      // 0000:b3:00.0, where the line names one
  std::string subject;  // what else it names: net device, block device, pid, server, switch number
  std::string group;    // of a kill in a control group: the one whose limit was hit, where named
  std::string text;     // the first line, as logged
  std::optional<absl::Time> time;  // of the first one
  std::optional<double> uptime_s;  // of the first one, where no time is known
  std::int64_t count = 0;
  std::int64_t order = 0;  // position of the first one among all events of the log
  std::int64_t last = 0;   // position of the last one
  // Points at hardware or the platform rather than at a program or a later consequence: what
  // may be the earliest anomaly of an incident.
  bool platform = false;
};

// The part of a log that counts. A line of unknown time always does.
struct KernelWindow {
  absl::Time from = absl::InfinitePast();
  absl::Time to = absl::InfiniteFuture();
  // Wall clock at boot, to date lines that carry seconds since boot only.
  std::optional<absl::Time> boot;
};

// Reads a kernel log of any form that ParseKernelLine knows. One event per family, code and
// device, in the order of their first lines. Linear in the log's size. Pure.
std::vector<KernelEvent> ScanKernelLog(absl::string_view log, const KernelPatterns& patterns,
                                       const KernelWindow& window = {});

// Reads a kernel log as it grows. Not thread-safe.
class KernelLogFollower {
 public:
  // `boot`: wall clock at boot, to date lines that carry seconds since boot only.
  KernelLogFollower(std::shared_ptr<const KernelPatterns> patterns, std::optional<absl::Time> boot);
  ~KernelLogFollower();

  // The events of the next line: usually none. Earlier lines are remembered only as far as they
  // explain later ones.
  std::vector<KernelEvent> Next(absl::string_view line);

 private:
  class Scan;
  const std::shared_ptr<const KernelPatterns> patterns_;
  const std::unique_ptr<Scan> scan_;
};

// "0000:b3:00.0" for the forms in which logs and tools write an address ("00000000:B3:00.0",
// "0000:b3:00", "b3:00.0"); empty for anything else.
std::string NormalPci(absl::string_view address);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_KERNEL_EVENTS_H_
