#ifndef COMMON_STORE_NAMES_H_
#define COMMON_STORE_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/store/event_log.h"

namespace galen::store {

// "tenants/t" of "tenants/t/diagnoses/d"; "" when the name has another form.
absl::string_view ParentOf(absl::string_view name);

// Errors that all event logs word alike.
absl::Status BadNameError(absl::string_view name);
absl::Status NoSuchLogError(absl::string_view name);
absl::Status DeletedError(absl::string_view name, absl::Time when);
absl::Status TakenError(absl::string_view name);
absl::Status TakenByDeletedError(absl::string_view name, absl::Time when);
absl::Status LeaseLostError(const Lease& lease);
absl::Status HeldError(absl::string_view name, absl::string_view owner, absl::Time expires);
absl::Status MovedOnError(absl::string_view name, std::int64_t last, std::int64_t expected);
absl::Status BadPageTokenError(absl::string_view token);

// The first day whose accounts a deletion at `now` keeps ("2026-02-14", UTC).
std::string FirstKeptDay(absl::Time now);

}  // namespace galen::store

#endif  // COMMON_STORE_NAMES_H_
