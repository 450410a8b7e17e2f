#include "services/execution/node_breaker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace galen::execution {

void NodeBreaker::Record(const std::string& node, const absl::Status& status, absl::Time now) {
  MutexLock lock(mu_);
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
    silent_[node] = {now, status};
  } else {
    silent_.erase(node);
  }
}

absl::Status NodeBreaker::Allow(const std::string& node, absl::Time now) const {
  MutexLock lock(mu_);
  const auto found = silent_.find(node);
  if (found == silent_.end() || now >= found->second.since + pause_) return absl::OkStatus();
  return {found->second.status.code(),
          absl::StrCat("it did not answer (", found->second.status.message(),
                       ") and is not asked again for ", absl::FormatDuration(pause_))};
}

std::size_t NodeBreaker::SilentAt(absl::Time now) const {
  MutexLock lock(mu_);
  return static_cast<std::size_t>(
      std::count_if(silent_.begin(), silent_.end(),
                    [&](const auto& entry) { return now < entry.second.since + pause_; }));
}

}  // namespace galen::execution
