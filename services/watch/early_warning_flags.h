#ifndef SERVICES_WATCH_EARLY_WARNING_FLAGS_H_
#define SERVICES_WATCH_EARLY_WARNING_FLAGS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/knowledge/knowledge.h"
#include "common/store/store.h"
#include "services/watch/early_warning/early_warning.h"

namespace galen::watch {

// Early warning as set by the program's flags (--early_warning, --prometheus); null if it is off.
// It runs until its destruction. Its arguments must outlive it. `directories` of `knowledge`.
absl::StatusOr<std::unique_ptr<early_warning::EarlyWarning>> OpenEarlyWarning(
    store::Store& store, const Clock& clock, const std::vector<std::string>& directories,
    const knowledge::Knowledge& knowledge, const std::string& owner, const std::string& parent,
    early_warning::EarlyWarning::Open open);

}  // namespace galen::watch

#endif  // SERVICES_WATCH_EARLY_WARNING_FLAGS_H_
