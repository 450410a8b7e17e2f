#ifndef SERVICES_NODE_WATCH_SAMPLER_H_
#define SERVICES_NODE_WATCH_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "galen/v1/evidence.pb.h"
#include "services/node/watch/counter_files.h"
#include "services/node/watch/history.h"

namespace galen::node {

// Takes something that was noticed: the check that would report it, and the finding.
using OnNoticed = std::function<void(const std::string& check, galen::v1::Finding finding)>;

// Samples counters, remembers their values, and reports those that rise as their rule says.
// Thread-safe.
class Sampler {
 public:
  struct Options {
    // Before every path; "" for the machine itself.
    std::string root;
    History::Options history;
    // The interval of the search for new devices. One that disappears starts a search at once,
    // though not more often than `rediscover_pause`.
    absl::Duration rediscover = absl::Minutes(1);
    absl::Duration rediscover_pause = absl::Seconds(10);
    // A counter that keeps rising is reported again after this time.
    absl::Duration repeat = absl::Minutes(1);
  };

  // `node` is whom findings are about. Counters that no rule judges are not sampled.
  Sampler(std::string node, std::vector<CounterSpec> specs, Options options);
  virtual ~Sampler() = default;

  // Reads every counter. `noticed` gets those whose rise reaches their rule's limit, once, and
  // again every `repeat` for as long as it does. Takes as long as the drivers do, which may be for
  // ever.
  virtual void Sample(absl::Time now, const OnNoticed& noticed);

  std::size_t counters() const;
  std::size_t files() const;

 private:
  void Discover(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Judge(std::size_t series, absl::Time now, const OnNoticed& noticed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string node_;
  const Options options_;
  mutable Mutex mu_;
  CounterFiles files_ ABSL_GUARDED_BY(mu_);
  History history_ ABSL_GUARDED_BY(mu_);
  std::vector<std::uint64_t> values_ ABSL_GUARDED_BY(mu_);
  std::vector<std::uint64_t> before_ ABSL_GUARDED_BY(mu_);
  // The time of the last report of a counter's rise; InfinitePast: it is not above its limit.
  std::vector<absl::Time> told_ ABSL_GUARDED_BY(mu_);
  absl::Time discovered_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace galen::node

#endif  // SERVICES_NODE_WATCH_SAMPLER_H_
