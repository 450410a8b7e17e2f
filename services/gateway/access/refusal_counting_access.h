#ifndef SERVICES_GATEWAY_ACCESS_REFUSAL_COUNTING_ACCESS_H_
#define SERVICES_GATEWAY_ACCESS_REFUSAL_COUNTING_ACCESS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "services/gateway/api/access.h"

namespace galen::gateway {

// Counts refused requests and reports them by source: each source at most once a minute, with its
// count, and all sources together with at most `most_lines` a minute. Thread-safe.
class RefusalCountingAccess final : public Access {
 public:
  // All must outlive it. `tell` gets a sentence.
  RefusalCountingAccess(Access& access, const Clock& clock,
                        std::function<void(const std::string&)> tell)
      : access_(access), clock_(clock), tell_(std::move(tell)) {}

  absl::StatusOr<Principal> Authenticate(const http::Request& request) override;
  // Requests whose credential was refused, and requests without one.
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Source {
    absl::Time since;  // of the last report
    std::uint64_t count = 0;
  };
  // The sentence to report; "": nothing.
  std::string Note(const std::string& source);

  Access& access_;
  const Clock& clock_;
  const std::function<void(const std::string&)> tell_;
  std::atomic<std::uint64_t> refused_ = 0;
  Mutex mu_;
  std::map<std::string, Source> sources_ ABSL_GUARDED_BY(mu_);
  absl::Time minute_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  int lines_ ABSL_GUARDED_BY(mu_) = 0;  // reported in that minute
};

}  // namespace galen::gateway

#endif  // SERVICES_GATEWAY_ACCESS_REFUSAL_COUNTING_ACCESS_H_
