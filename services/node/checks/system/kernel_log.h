#ifndef SERVICES_NODE_CHECKS_SYSTEM_KERNEL_LOG_H_
#define SERVICES_NODE_CHECKS_SYSTEM_KERNEL_LOG_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/checks/check.h"
#include "services/node/checks/system/kernel_events.h"

namespace galen::node {

// The events of the host's kernel log that lie in the incident's window (from ten minutes before
// it begins, as a cause may come before what it causes), or all where no window is known. Errors
// as in host::Host.
absl::StatusOr<std::vector<KernelEvent>> KernelEvents(const CheckContext& context);

// The event as evidence.
galen::v1::LogEvent ToLogEvent(const KernelEvent& event);

// The finding of system.kernel_log that the event is, on `node`; nothing for an event that the
// check does not report. `names` as DeviceNames() gives them.
std::optional<galen::v1::Finding> KernelFinding(const KernelEvent& event, const std::string& node,
                                                const std::map<std::string, std::string>& names);

// Wall clock at boot as the host tells it.
std::optional<absl::Time> BootTime(const host::Host& host);

// system.kernel_log. Each family without an event is a finding with an empty event ("none"): the
// log was read, and there is none. A kill for lack of memory has the code "memcg:<process>",
// "global:<process>", or "other_group:<process>" for one outside the job.
absl::StatusOr<CheckOutput> CheckKernelLog(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_KERNEL_LOG_H_
