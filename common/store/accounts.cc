#include "common/store/accounts.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"

namespace galen::store {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// The largest count that one question may add. An endpoint that reports more is not trusted.
std::int64_t Bounded(std::int64_t count) {
  return std::clamp<std::int64_t>(count, 0, std::int64_t{1} << 50);
}

std::int64_t Sum(std::int64_t a, std::int64_t b) { return a > kMost - b ? kMost : a + b; }

}  // namespace

void AddSpent(const v1::Spent& more, v1::Spent& spent) {
  spent.set_calls(Sum(spent.calls(), more.calls()));
  spent.set_input_tokens(Sum(spent.input_tokens(), more.input_tokens()));
  spent.set_output_tokens(Sum(spent.output_tokens(), more.output_tokens()));
  spent.set_cost_nanos(Sum(spent.cost_nanos(), more.cost_nanos()));
}

std::map<std::string, v1::Spent> SpentByDay(absl::Span<const v1::DiagnosisEvent> events) {
  std::map<std::string, v1::Spent> days;
  for (const v1::DiagnosisEvent& event : events) {
    if (event.reasoned().empty()) continue;
    v1::Spent& day = days[absl::FormatTime(
        "%Y-%m-%d", absl::FromUnixSeconds(event.event_time().seconds()), absl::UTCTimeZone())];
    for (const v1::Reasoned& reasoned : event.reasoned()) {
      v1::Spent spent;
      spent.set_calls(std::max(0, reasoned.calls()));
      spent.set_input_tokens(Bounded(reasoned.input_tokens()));
      spent.set_output_tokens(Bounded(reasoned.output_tokens()));
      spent.set_cost_nanos(Bounded(reasoned.cost_nanos()));
      AddSpent(spent, day);
    }
  }
  return days;
}

}  // namespace galen::store
