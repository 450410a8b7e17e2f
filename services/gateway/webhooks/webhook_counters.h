#ifndef SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_COUNTERS_H_
#define SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/observability/metrics/numbers.h"

namespace galen::gateway::webhooks {

// Counts of webhooks. Endpoints come from a site's own file, so their number is bounded.
// Thread-safe.
class WebhookCounters {
 public:
  void Delivered(const std::string& endpoint, absl::string_view outcome) {
    const MutexLock lock(mu_);
    ++deliveries_[{endpoint, std::string(outcome)}];
  }
  void Proven(const std::string& endpoint, absl::Time now) {
    const MutexLock lock(mu_);
    last_[endpoint] = now;
  }
  void Polled(const std::string& endpoint, absl::string_view outcome) {
    const MutexLock lock(mu_);
    ++polls_[{endpoint, std::string(outcome)}];
  }
  void Took(absl::Duration time) { times_.Add(time); }

  using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;
  Counts deliveries() const {
    const MutexLock lock(mu_);
    return deliveries_;
  }
  Counts polls() const {
    const MutexLock lock(mu_);
    return polls_;
  }
  std::map<std::string, absl::Time> last() const {
    const MutexLock lock(mu_);
    return last_;
  }
  metrics::Distribution times() const { return times_.Copy(); }

 private:
  static constexpr std::array<double, 12> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,   0.1,   0.25,   0.5,   1,    2.5};
  mutable Mutex mu_;
  Counts deliveries_ ABSL_GUARDED_BY(mu_);
  Counts polls_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, absl::Time> last_ ABSL_GUARDED_BY(mu_);
  metrics::Times<kBounds.size()> times_{kBounds};
};

}  // namespace galen::gateway::webhooks

#endif  // SERVICES_GATEWAY_WEBHOOKS_WEBHOOK_COUNTERS_H_
