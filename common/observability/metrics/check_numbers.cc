#include "common/observability/metrics/check_numbers.h"

#include "common/observability/metrics/registry.h"

namespace galen::metrics {

void CheckNumbers::CountResult(absl::string_view check, int status) {
  if (status <= 0 || static_cast<std::size_t>(status) >= kStatuses.size()) return;
  checks_.Of(check).results[static_cast<std::size_t>(status)].Add();
}

void CheckNumbers::CountTime(absl::string_view check, absl::Duration ran) {
  OfCheck& numbers = checks_.Of(check);
  numbers.times.Add(ran);
  numbers.timed.Add();
}

prometheus::MetricFamily CheckNumbers::Results(const Description& description) const {
  prometheus::MetricFamily family = FamilyOf(description);
  for (const auto& [check, numbers] : checks_.All()) {
    for (std::size_t status = 1; status < kStatuses.size(); ++status) {
      const std::uint64_t count = numbers->results[status].value();
      if (count == 0) continue;
      AddTo(family, {{"check", check}, {"status", kStatuses[status]}}, static_cast<double>(count));
    }
  }
  return family;
}

prometheus::MetricFamily CheckNumbers::Times(const Description& description) const {
  prometheus::MetricFamily family = FamilyOf(description);
  for (const auto& [check, numbers] : checks_.All()) {
    if (numbers->timed.value() > 0) AddTo(family, {{"check", check}}, numbers->times.Copy());
  }
  return family;
}

}  // namespace galen::metrics
