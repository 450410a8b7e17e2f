#ifndef SERVICES_NODE_CHECKS_SYSTEM_BOOT_HISTORY_H_
#define SERVICES_NODE_CHECKS_SYSTEM_BOOT_HISTORY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/node/checks/check.h"

namespace galen::node {

// Why the kernel died, from a record that it left ("Kernel panic - not syncing: ..."); empty: the
// record does not say. Pure.
std::string PanicReason(absl::string_view record);

// Whether no shutdown stands before the newest boot in `last -x`, which shows all of wtmp, newest
// record first; nothing where it does not reach back so far. Pure.
std::optional<bool> BootWithoutShutdown(absl::string_view last);

// system.boot_history.
absl::StatusOr<CheckOutput> CheckBootHistory(const CheckContext& context);

}  // namespace galen::node

#endif  // SERVICES_NODE_CHECKS_SYSTEM_BOOT_HISTORY_H_
