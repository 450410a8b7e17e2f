#include "common/log_analysis/triage/lines.h"

#include <algorithm>
#include <cstring>

#include "common/log_analysis/scan/timestamp.h"

namespace galen::triage {

std::size_t LineBegin(absl::string_view block, std::size_t at) {
  const void* const newline = memrchr(block.data(), '\n', at);
  if (newline == nullptr) return 0;
  return static_cast<std::size_t>(static_cast<const char*>(newline) - block.data()) + 1;
}

std::size_t LineEnd(absl::string_view block, std::size_t at) {
  const void* const newline = std::memchr(block.data() + at, '\n', block.size() - at);
  if (newline == nullptr) return block.size();
  return static_cast<std::size_t>(static_cast<const char*>(newline) - block.data());
}

std::optional<absl::Time> YearOf(absl::string_view block, int lines, std::size_t head) {
  std::optional<log_scan::TimeStamp> first;
  for (int read = 0; read < lines && !block.empty(); ++read) {
    const std::size_t end = LineEnd(block, 0);
    const auto stamp = log_scan::FindTimeStamp(block.substr(0, std::min(end, head)));
    block.remove_prefix(std::min(end + 1, block.size()));
    if (!stamp.has_value()) continue;
    if (!first.has_value()) first = stamp;
    if (!stamp->has_year) continue;
    const auto time = log_scan::Resolve(*stamp, {});
    log_scan::TimeContext context;
    context.near = time;
    const auto of_first = log_scan::Resolve(*first, context);
    if (time.has_value() && of_first.has_value() &&
        absl::AbsDuration(*of_first - *time) < absl::Hours(48)) {
      return time;
    }
  }
  return std::nullopt;
}

}  // namespace galen::triage
